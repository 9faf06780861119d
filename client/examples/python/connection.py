"""A connection to actord, with TLS if the environment names an authority. The
variables are those of actorctl:

  ACTORD_CLIENT_TLS_CA           PEM file with the authority of the daemon's
                                 certificate; not set: no TLS
  ACTORD_CLIENT_TLS_CERTIFICATE  PEM file with this client's certificate, for a
  ACTORD_CLIENT_TLS_KEY          daemon that requires one, and its private key
  ACTORD_CLIENT_TLS_SERVER_NAME  the name in the daemon's certificate; not set:
                                 the host of the address
"""

import os

import grpc


def _content(variable):
    path = os.environ.get(variable)
    if not path:
        return None
    with open(path, "rb") as file:
        return file.read()


def has_tls(address):
    """A Unix socket has no TLS."""
    return (not address.startswith("unix:")
            and bool(os.environ.get("ACTORD_CLIENT_TLS_CA")))


def open_channel(address):
    if not has_tls(address):
        return grpc.insecure_channel(address)
    credentials = grpc.ssl_channel_credentials(
        _content("ACTORD_CLIENT_TLS_CA"), _content("ACTORD_CLIENT_TLS_KEY"),
        _content("ACTORD_CLIENT_TLS_CERTIFICATE"))
    name = os.environ.get("ACTORD_CLIENT_TLS_SERVER_NAME")
    options = [("grpc.ssl_target_name_override", name)] if name else []
    return grpc.secure_channel(address, credentials, options)
