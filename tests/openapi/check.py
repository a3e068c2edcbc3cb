"""Checks the OpenAPI document of a server: `check.py BINARY FOLDER`. Prints nothing if all is well."""

import importlib
import json
import os
import random
import subprocess
import sys
import urllib.request
from pathlib import Path

from openapi_spec_validator import validate

# Endless, or as long as a request asks for.
LEFT_OUT = ["watch", "reserve"]


def start(binary):
    """A server without tokens, and the address of its HTTP."""
    # Its end is that of its standard input, however this program ends.
    command = [binary, "serve", "--memory", "--clock", "manual", "--end-with-stdin", "--log-format", "json"]
    command += ["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in server.stdout:
        told = json.loads(line)
        fields = told.get("fields", told)
        if fields.get("message") == "listening for HTTP":
            return server, f"http://{fields['address']}"
    raise SystemExit(f"{binary} does not start")


def check_document(document):
    """The document is valid, and each operation has a name of its own and its limits."""
    validate(document)
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names)), f"operation ids are not unique: {sorted(names)}"
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    job = document["components"]["schemas"]["Job"]
    assert job["discriminator"]["propertyName"] == "state", job
    ttr = document["components"]["schemas"]["Settings"]["properties"]["ttr_ms"]
    assert (ttr["minimum"], ttr["maximum"]) == (100, 604_800_000), ttr
    for path in ["/metrics", "/healthz", "/readyz", "/v1/openapi.json"]:
        assert path in document["paths"], f"{path} is missing"


def check_client(document_file, folder, address):
    """A client that is generated from the document pushes, reserves and finishes."""
    generate = ["openapi-python-client", "generate", "--path", document_file, "--output-path", str(folder), "--meta", "none"]
    subprocess.run([str(Path(sys.executable).with_name(generate[0])), *generate[1:]], check=True)
    sys.path.insert(0, str(folder.parent))
    generated = importlib.import_module(folder.name)
    api = {name: importlib.import_module(f"{folder.name}.api.{name}") for name in ["jobs.push", "leases.reserve", "leases.finish"]}
    models = importlib.import_module(f"{folder.name}.models")
    client = generated.Client(base_url=address)
    pushed = api["jobs.push"].sync_detailed("orders", client=client, body=models.NewJob.from_dict({"body": {"order": 17}, "ttr": "30s"}))
    assert pushed.status_code == 201, pushed
    asked = models.Reserve.from_dict({"topics": ["orders"], "wait": "30s"})
    reserved = api["leases.reserve"].sync_detailed(client=client, body=asked)
    assert reserved.status_code == 200, reserved
    (job,) = reserved.parsed.jobs
    body = job.to_dict()["body"]
    assert (job.id, body) == (pushed.parsed.id, {"order": 17}), job
    finished = api["leases.finish"].sync_detailed(job.lease, client=client)
    assert finished.status_code == 204, finished


def check_requests(document_file, address, seed):
    """Requests that are made from the document, right ones and wrong ones, are answered as it says."""
    left_out = [argument for name in LEFT_OUT for argument in ("--exclude-operation-id", name)]
    config = str(Path(__file__).with_name("schemathesis.toml"))
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", config]
    command += ["run", document_file, "--url", address]
    command += ["--phases", "examples,coverage,fuzzing", "--max-examples", "20"]
    command += ["--seed", str(seed), "--continue-on-failure", "--warnings", "off", "--no-color", "--request-timeout", "20", *left_out]
    # It leaves its cache where it runs.
    folder = Path(document_file).parent
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}\nseed {seed}")


def main():
    binary, folder = sys.argv[1], Path(sys.argv[2])
    seed = int(os.environ.get("ADJOURN_SEED", random.randrange(1 << 32)))
    server, address = start(binary)
    try:
        with urllib.request.urlopen(f"{address}/v1/openapi.json") as answer:
            document = json.load(answer)
        document_file = folder / "openapi.json"
        document_file.write_text(json.dumps(document))
        check_document(document)
        check_client(str(document_file), folder / "adjourn_generated", address)
        check_requests(str(document_file), address, seed)
    finally:
        server.stdin.close()
        server.wait()


main()
