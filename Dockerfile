# The image of actord: the daemon, actorctl and the example plugins.
#
#   docker build -t actord --build-arg REVISION="$(git rev-parse HEAD)" .
#   docker run --read-only --volume actord-run:/run/actord actord
#
# The daemon serves its own container and, through the socket in that volume,
# everybody who may use the volume. With a certificate it serves a network, too:
#
#   docker run --read-only --publish 7600:7600 --volume /etc/actord-tls:/etc/actord-tls:ro \
#     --env ACTORD_LISTEN=0.0.0.0:7600,unix:/run/actord/actord.sock \
#     --env ACTORD_TLS_CERTIFICATE=/etc/actord-tls/tls.pem \
#     --env ACTORD_TLS_KEY=/etc/actord-tls/tls.key \
#     --env ACTORD_TLS_CLIENT_CA=/etc/actord-tls/ca.pem actord
#
# With plugins of your own:
#
#   FROM actord
#   COPY my.so /usr/lib/actord/plugins/

# What the programs need to run.
FROM debian:bookworm-slim AS runtime
RUN apt-get update \
    && apt-get install --yes --no-install-recommends \
        libabsl20220623 libfmt9 libgrpc++1.51 libisal2 libprotobuf32 \
        librocksdb7.8 libspdlog1.10 libssl3 libtomlplusplus3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

FROM debian:bookworm-slim AS build
WORKDIR /src
COPY dev ./
RUN ./dev setup build \
    && apt-get install --yes --no-install-recommends python3
COPY . .
# Objects in the compiler's cache do not depend on the folder of the sources. They
# do depend on the language of the compiler's messages.
ENV CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1
ARG LANG
RUN cmake --preset release -DACTORD_BUILD_BENCH=OFF \
    && cmake --build --preset release \
    && install -D --strip --target-directory /image/usr/bin \
        build/release/bin/actord build/release/bin/actorctl \
    && install -D --strip --mode 0644 \
        --target-directory /image/usr/lib/actord/plugins \
        build/release/lib/actord/plugins/*.so \
    && install -D --mode 0644 --target-directory /image/usr/share/doc/actord \
        LICENSE \
    && install -D --mode 0644 --target-directory /image/etc/actord \
        packaging/image/actord.toml \
    && install -D --target-directory /image/usr/lib/actord \
        packaging/image/healthcheck
# The list of the parts of the image, in SPDX: what dpkg has installed in it, and
# the sources that are compiled in.
ARG VERSION=0.1.0
COPY --from=runtime /var/lib/dpkg /dpkg
RUN packaging/sbom/write_sbom.py /image/usr/share/doc/actord/actord.spdx.json \
    --image "$VERSION" --dpkg /dpkg

FROM runtime
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="actord" \
    org.opencontainers.image.description="Standalone actor-runtime daemon with a gRPC front" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"
COPY --from=build /image/ /
# A library that stage "runtime" lacks shows here, not when the image starts.
RUN ["/usr/bin/actord", "--version"]
RUN ["/usr/bin/actorctl", "--version"]

# No account is needed for a number. Nothing is written to the root but the
# socket, whose folder is a volume, so that the root may be read-only. A named
# volume at /var/lib/actord, for a store, gets the owner of that folder.
RUN install -d --owner 65532 --group 65532 --mode 0750 /run/actord /var/lib/actord
VOLUME /run/actord
USER 65532:65532
EXPOSE 7600
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
    CMD ["/usr/lib/actord/healthcheck"]
# No options: they would outweigh the environment and the file.
ENV ACTORD_CONFIG=/etc/actord/actord.toml
ENTRYPOINT ["/usr/bin/actord"]
CMD []
