package pki_test

import (
	"time"

	"kiln/render/config"
)

// vectors are the first eight bytes of the SHA-256 of the SEC 1 PEM of derived keys, computed by a
// second implementation: HKDF and RFC 9180's DeriveKeyPair written out with Python's hmac, the PEM
// by OpenSSL.
var vectors = map[string]string{
	"apiserver/cp-1": "3cc43320587f2330",
	"rotated/cp-1":   "a1ad3e99765f7776",
	"a/b":            "7cb09bb0b6946bd7",
	"":               "f9526de92acbd2b2",
}

// tokenVectors and nodeTokenVectors are tokens of pools and of named machines, computed in the same
// way.
var (
	tokenVectors = map[string]string{"small": "27uwu7.47muvduuhwnh17pt",
		"again": "l03lfo.b713e8mfgb6drtjg"}
	nodeTokenVectors = map[string]string{"small": "pup5dd.6ghsgkfvrf0qvfrv",
		"again": "kqdjw4.x53aanxuodiib24n", "worker-1.example.com": "ixfi34.hjm5mmo2v8xiido9"}
)

func asDuration(d time.Duration) config.Duration { return config.Duration(d) }
