#!/usr/bin/env bash
# Certificates for a broker on loopback and its clients, made anew for one test.
#
#   certificates.sh DIR   writes ca.pem, other-ca.pem (which signed nothing), broker.pem (key, certificate
#                         and authority in one file, as Kafka takes it), and for the client
#                         `yardmaster` client.pem and client.key
set -euo pipefail
[ $# = 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
umask 077

authority() { # NAME
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.pem" -days 2 \
        -subj "/CN=test authority $1" > /dev/null 2>&1
}

signed() { # NAME COMMON_NAME
    openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$2" \
        > /dev/null 2>&1
    printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' > "$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
        -extfile "$1.ext" -out "$1.crt" > /dev/null 2>&1
}

authority ca
authority other-ca
signed broker broker
signed client yardmaster
cat broker.key broker.crt ca.pem > broker.pem
mv client.crt client.pem
