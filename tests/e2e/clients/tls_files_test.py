"""What the Python package says of wrong TLS files, and which files it takes."""

import os
import ssl
import subprocess
import threading
import unittest
import unittest.mock

import actord
import actord.aio
import grpc
from harness.certificates import Authority
from harness.tls_case import TlsCase
from harness.waiting import WAIT_SECONDS

DAMAGED = (b"-----BEGIN CERTIFICATE-----\nMIIBAAAA\n"
           b"-----END CERTIFICATE-----\n")
OLD = "20200101000000Z"


class TlsFiles(TlsCase):

    def setUp(self):
        super().setUp()
        self.pair = self.authority.issue("python")
        self.files = {"tls_ca": self.authority.certificate,
                      "tls_cert": self.pair.certificate, "tls_key": self.pair.key}

    def file(self, name, *contents):
        path = self.directory / name
        path.write_bytes(b"".join(contents))
        return path

    def assert_refused(self, kind, text, **files):
        with self.subTest(text=text):
            for client in (actord.Client, actord.aio.Client):
                with self.assertRaises(kind) as caught:
                    client("127.0.0.1:1", **{**self.files, **files})
                self.assertEqual(str(caught.exception), text)

    def test_a_file_that_cannot_be_read_is_named_with_its_argument(self):
        path = self.directory / "missing"
        for argument in self.files:
            self.assert_refused(
                FileNotFoundError, f"[Errno 2] {argument} cannot be read: No such file or "
                f"directory: '{path}'", **{argument: path})
        self.assert_refused(
            IsADirectoryError, "[Errno 21] tls_ca cannot be read: Is a directory: "
            f"'{self.directory}'", tls_ca=self.directory)
        with unittest.mock.patch.dict(os.environ, ACTORD_CLIENT_TLS_CA=str(path)):
            with self.assertRaisesRegex(
                    FileNotFoundError, "[$]ACTORD_CLIENT_TLS_CA cannot be read: No such"):
                actord.Client()

    def test_a_file_without_a_certificate_is_named(self):
        text = self.file("text", b"hello\n")
        der = self.file("der", ssl.PEM_cert_to_DER_cert(
            self.pair.certificate.read_text()))
        damaged = self.file("damaged", DAMAGED)
        none = "has no certificate in PEM (-----BEGIN CERTIFICATE-----)"
        for argument in ("tls_ca", "tls_cert"):
            for path, why in [(text, none), (der, none),
                              (self.pair.key, none + ", but a private key"),
                              (damaged, "the first certificate is damaged")]:
                self.assert_refused(ValueError, f"{argument}: {path}: {why}",
                                    **{argument: path})

    def test_a_key_that_cannot_be_used_is_named(self):
        other = self.authority.issue("other").key
        damaged = self.file("damaged", b"-----BEGIN PRIVATE KEY-----\nMIIBAAAA\n"
                                       b"-----END PRIVATE KEY-----\n")
        locked = self.file("locked", b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                           b"MIIBAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
        for path, why in [
                (self.pair.certificate,
                 "has no private key in PEM (-----BEGIN PRIVATE KEY-----)"),
                (damaged, "the private key is damaged"),
                (locked, "the private key is damaged"),
                (self.locked_key(), "the key has a passphrase, and must have none: "
                                    "openssl pkey -in KEY -out NEW removes it"),
                (other, "the key does not belong to the first certificate in "
                        f"{self.pair.certificate}, which must be the client's own")]:
            self.assert_refused(ValueError, f"tls_key: {path}: {why}", tls_key=path)

    def locked_key(self):
        path = self.directory / "locked.key"
        subprocess.run(["openssl", "pkey", "-in", self.pair.key, "-aes256", "-passout",
                        "pass:x", "-out", path], check=True)
        return path

    def test_an_authority_that_has_expired_is_named(self):
        old = self.authority.issue("old", end=OLD).certificate
        self.assert_refused(
            ValueError, f"tls_ca: {old}: the certificate expired at 2020-01-01T00:00:00Z; "
            "give the present certificate of the authority", tls_ca=old)

    def test_files_that_grpc_can_use_are_taken(self):
        ca, own, key = (path.read_bytes() for path in self.files.values())
        old = self.authority.issue("old", end=OLD).certificate.read_bytes()
        daemon = self.start_daemon(*self.mutual_tls())
        both = self.file("both", key, own)
        for files in [
                {}, {"tls_cert": both, "tls_key": both},
                {"tls_cert": self.file("chain", own, ca)},
                {"tls_cert": self.file("tail", own, DAMAGED)},
                {"tls_ca": self.file("old-and-new", old, ca)},
                {"tls_ca": self.file("damaged-behind", b"# text\n", ca, DAMAGED)},
                {"tls_ca": self.file("lines", ca.replace(b"\n", b"\r\n"))},
                {"tls_ca": self.file("bundle", ca, self.other_authority())},
                {"tls_key": self.pipe(key)}]:
            with self.subTest(files=files):
                with actord.Client(daemon.address, max_attempts=1,
                                   **{**self.files, **files}) as client:
                    self.assertEqual(
                        client.run("echo", "a", timeout=WAIT_SECONDS).text, "a")

    def other_authority(self):
        return Authority(self.directory, "stranger").certificate.read_bytes()

    def pipe(self, content):
        """A file that can be read once."""
        path = self.directory / "pipe"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
        return path

    def test_errors_that_grpc_leaves_in_openssl_do_not_matter(self):
        # Debian's gRPC shares OpenSSL, and so its errors of a thread, with Python.
        other = self.authority.issue("other").key
        for _ in range(3):
            credentials = grpc.ssl_channel_credentials(
                self.files["tls_ca"].read_bytes(), other.read_bytes(),
                self.pair.certificate.read_bytes())
            with grpc.secure_channel("127.0.0.1:1", credentials) as channel:
                with self.assertRaises(grpc.RpcError):
                    channel.unary_unary("/a/b")(b"", timeout=WAIT_SECONDS)
            actord.Client("127.0.0.1:1", **self.files).close()


if __name__ == "__main__":
    unittest.main()
