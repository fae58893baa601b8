# Builds the program with librdkafka in it; the image that runs has nothing but it, OpenSSL and zlib. With
# `--build-arg PROGRAM=prebuilt` it takes the program of packaging/release.sh from dist/ instead, so that a
# release has one program. The bases are pinned by tag; to pin one by digest, write
# `FROM debian:12.12-slim@sha256:...` (docs/compose.md).
ARG PROGRAM=build

FROM rust:1.90-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ libssl-dev make pkg-config zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY Cargo.toml Cargo.lock build.rs README.md ./
COPY src src
COPY schemas schemas
COPY topology topology
COPY benches benches
# Some of it is part of the program.
COPY docs docs
# Kernels of arm64 have pages of up to 64 KiB; the allocator is built for the largest there are.
RUN if [ "$(uname -m)" = aarch64 ]; then export JEMALLOC_SYS_WITH_LG_PAGE=16; fi \
    && cargo build --release --locked --features tls --bin yardmaster \
    && cp target/release/yardmaster /yardmaster

FROM scratch AS prebuilt
COPY dist/yardmaster /yardmaster

FROM ${PROGRAM} AS program

FROM debian:12.12-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libssl3 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --create-home --home-dir /var/lib/yardmaster yardmaster
COPY --from=program /yardmaster /usr/local/bin/yardmaster
# By number, so that an orchestrator sees that it is not root. Nothing is written but in
# /var/lib/yardmaster, and by `demo` in /tmp: the root may be read-only.
USER 10001:10001
WORKDIR /var/lib/yardmaster
VOLUME /var/lib/yardmaster
# SIGTERM finishes the cycle, publishes a final progress record, stores everything and exits 0.
STOPSIGNAL SIGTERM
ENTRYPOINT ["yardmaster"]
CMD ["--help"]
