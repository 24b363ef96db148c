#!/usr/bin/env python3
"""Derives keys, serial numbers and tokens as kiln does: derivation.md says how.

It reads questions on standard input as JSON, in the form of derivation.json, and prints them with
the answers. It shares no code with kiln, and needs nothing but Python: kiln's tests compare the two.
"""

import hashlib
import hmac
import json
import sys

# The curve P-256: y² = x³ - 3x + B over the field of P, and the base point G of the order N.
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def extract(salt, secret):
    """HKDF-Extract of RFC 5869 with SHA-256."""
    return hmac.digest(salt, secret, "sha256")


def expand(prk, info, length):
    """HKDF-Expand of RFC 5869 with SHA-256."""
    out, block = b"", b""
    for i in range((length + 31) // 32):
        block = hmac.digest(prk, block + info + bytes([i + 1]), "sha256")
        out += block
    return out[:length]


def derive(question, purpose, name, generation, length):
    """The bytes that belong to one purpose, name and generation of a cluster alone."""
    fields = [b"kiln/v1", purpose.encode(), name, str(generation).encode()]
    info = b"".join(len(f).to_bytes(4, "big") + f for f in fields)
    prk = extract(question["cluster"].encode(), bytes.fromhex(question["leafSeed"]))
    return expand(prk, info, length)


def candidate(ikm):
    """DeriveKeyPair of RFC 9180 §7.1.3 for DHKEM(P-256, HKDF-SHA256), the KEM number 16."""
    suite = b"HPKE-v1" + b"KEM" + (16).to_bytes(2, "big")
    prk = extract(b"", suite + b"dkp_prk" + ikm)
    for counter in range(256):
        info = (32).to_bytes(2, "big") + suite + b"candidate" + bytes([counter])
        scalar = int.from_bytes(expand(prk, info, 32), "big")
        if 0 < scalar < N:
            return scalar
    raise ValueError("no candidate is a private key")


def add(a, b):
    """The sum of two points; None is the point at infinity."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    if a == b:
        slope = 3 * (a[0] * a[0] - 1) * pow(2 * a[1], -1, P)
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(scalar, point):
    """The point, that many times."""
    total = None
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point, scalar = add(point, point), scalar >> 1
    return total


def key(question):
    """A private key and its public point, uncompressed, in hex."""
    scalar = candidate(derive(question, "key", question["name"].encode(), question["generation"], 32))
    x, y = multiply(scalar, G)
    return {"private": f"{scalar:064x}", "public": f"04{x:064x}{y:064x}"}


def token(question):
    """A bootstrap token."""
    name, generation = question["name"].encode(), question["generation"]
    stream = derive(question, question["kind"], name, generation, 8 * 22)
    text = "".join(ALPHABET[c % 36] for c in stream if c < 252)[:22]
    return {"token": text[:6] + "." + text[6:]}


def announce(question):
    """The key with which a machine announces the state of its first boot: a digit for two bits."""
    name, generation = question["name"].encode(), question["generation"]
    stream = derive(question, question["kind"], name, generation, 16)
    return {"private": "".join(str(c >> shift & 3) for c in stream for shift in (6, 4, 2, 0))}


def serial(question):
    """The serial number of a certificate, in hex. The content stands for what is signed."""
    name = hashlib.sha256(question["content"].encode()).digest()
    number = int.from_bytes(derive(question, "serial", name, 1, 16), "big") & (2**127 - 1)
    return {"serial": f"{number or 1:x}"}


ANSWERS = {
    "announce": announce,
    "announce/pool": announce,
    "key": key,
    "serial": serial,
    "token": token,
}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps([q | ANSWERS[q["kind"]](q) for q in asked], indent=2))
