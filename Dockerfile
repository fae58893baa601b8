# Builds the binary with librdkafka in it; the image that runs has nothing but it and zlib.
FROM rust:1-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ make zlib1g-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY Cargo.toml Cargo.lock README.md ./
COPY src src
COPY schemas schemas
COPY topology topology
COPY benches benches
RUN cargo build --release --locked --bin yardmaster

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --create-home --home-dir /var/lib/yardmaster yardmaster
COPY --from=build /build/target/release/yardmaster /usr/local/bin/yardmaster
USER yardmaster
WORKDIR /var/lib/yardmaster
VOLUME /var/lib/yardmaster
# SIGTERM finishes the cycle, publishes a final progress record, stores everything and exits 0.
STOPSIGNAL SIGTERM
ENTRYPOINT ["yardmaster"]
CMD ["--help"]
