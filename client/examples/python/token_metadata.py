"""The metadata with which a client presents its token to actord."""

import ipaddress
import os
import stat

from connection import has_tls


def authorization(address, token_file):
    """Returns the metadata for each call to `address`: none without a file.

    Raises OSError if the file cannot be read, and ValueError if others may read
    it or if the token would cross a network in plain text."""
    if not token_file:
        return ()
    with open(token_file, encoding="ascii") as file:
        if os.fstat(file.fileno()).st_mode & stat.S_IRWXO:
            raise ValueError(f"{token_file}: others may read it: chmod 0640")
        token = file.read().strip()
    if not has_tls(address) and not _stays_on_this_machine(address):
        raise ValueError(f"the token is not sent to {address}: the connection "
                         "is plain text, so that others on the network could "
                         "read the token")
    return (("authorization", f"Bearer {token}"),)


def _stays_on_this_machine(address):
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
