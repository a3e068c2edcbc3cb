"""A session over changing connections: its requests, its leases, and the search for the leader."""
