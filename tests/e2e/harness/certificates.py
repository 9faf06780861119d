"""An authority of certificates, made with the program `openssl`."""

import dataclasses
import os
import pathlib
import ssl
import subprocess

import grpc

_SETTINGS = """
[ca]
default_ca = own
[own]
database = {directory}/index.txt
new_certs_dir = {directory}
certificate = {directory}/ca.pem
private_key = {directory}/ca.key
rand_serial = yes
default_md = sha256
default_days = 30
default_crl_days = 30
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = optional
[req]
distinguished_name = any
"""


def _openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {words}: {done.stderr}")
    return done.stdout


def _new_key(path):
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)
    path.chmod(0o600)


@dataclasses.dataclass
class Pair:
    """A certificate and its key, as files."""
    certificate: pathlib.Path
    key: pathlib.Path

    def put(self, other):
        """Replaces both files by those of `other`, each at once."""
        for own, new in ((self.certificate, other.certificate),
                         (self.key, other.key)):
            replace(own, new.read_bytes())


def replace(path, content):
    """Replaces the file at once, so that nobody reads a part of it."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(content)
    fresh.chmod(0o600)
    os.rename(fresh, path)


class Authority:

    def __init__(self, directory, name="authority"):
        self.directory = pathlib.Path(directory) / name
        self.directory.mkdir()
        self._settings = self.directory / "openssl.cnf"
        self._settings.write_text(_SETTINGS.format(directory=self.directory))
        (self.directory / "index.txt").write_text("")
        self.certificate = self.directory / "ca.pem"
        key = self.directory / "ca.key"
        _new_key(key)
        _openssl("req", "-config", self._settings, "-x509", "-new", "-key", key,
                 "-subj", f"/CN={name}", "-days", "30", "-out",
                 self.certificate, "-addext", "basicConstraints=critical,CA:TRUE",
                 "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def issue(self, name, alternative_names="DNS:localhost,IP:127.0.0.1",
              end=None):
        """`end`: such as 20200101000000Z."""
        pair = Pair(self.directory / f"{name}.pem", self.directory / f"{name}.key")
        _new_key(pair.key)
        request = self.directory / f"{name}.csr"
        _openssl("req", "-config", self._settings, "-new", "-key", pair.key,
                 "-subj", f"/CN={name}", "-addext",
                 f"subjectAltName={alternative_names}", "-out", request)
        dates = ("-startdate", "20190101000000Z", "-enddate", end) if end else ()
        _openssl("ca", "-config", self._settings, "-batch", "-notext", "-in",
                 request, "-out", pair.certificate, *dates)
        return pair

    def revoke(self, pair):
        _openssl("ca", "-config", self._settings, "-revoke", pair.certificate)

    def write_list(self, path):
        """Writes the list of revoked certificates, at once."""
        fresh = path.with_name(path.name + ".list")
        _openssl("ca", "-config", self._settings, "-gencrl", "-out", fresh)
        os.rename(fresh, path)

    def channel_credentials(self, pair=None):
        """Of a client that trusts this authority and presents the pair."""
        if pair is None:
            return grpc.ssl_channel_credentials(self.certificate.read_bytes())
        return grpc.ssl_channel_credentials(
            self.certificate.read_bytes(), pair.key.read_bytes(),
            pair.certificate.read_bytes())


def fingerprint(pair):
    """SHA-256 as the daemon logs it."""
    text = _openssl("x509", "-in", pair.certificate, "-noout", "-fingerprint",
                    "-sha256")
    return text.strip().split("=")[1]


def raw_context(authority, pair=None):
    """For a client that speaks TLS by hand."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.certificate)
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    context.set_alpn_protocols(["h2"])
    return context
