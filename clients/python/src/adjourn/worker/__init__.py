"""A worker: runs a handler for each job of some topics."""

from .handlers import Bury, Handler, Middleware, Retry, RunsIn
from .worker import Health, Worker

__all__ = ["Bury", "Handler", "Health", "Middleware", "Retry", "RunsIn", "Worker"]
