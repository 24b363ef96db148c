// Kms is a plugin of the KMS v2 API for the machines of fast.sh: it encrypts with a key of its own
// in the memory of the process, as a key management service would with one that never leaves it.
//
//	kms SOCKET
package main

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"log"
	"os"
	"time"

	"k8s.io/kms/pkg/service"
)

// plugin encrypts with AES-GCM.
type plugin struct{ cipher.AEAD }

// keyID is what API servers store beside what the key encrypted.
const keyID = "1"

// Status says that the plugin is well.
func (plugin) Status(context.Context) (*service.StatusResponse, error) {
	return &service.StatusResponse{Version: "v2", Healthz: "ok", KeyID: keyID}, nil
}

// Encrypt encrypts the key of an API server.
func (p plugin) Encrypt(
	_ context.Context, _ string, data []byte,
) (*service.EncryptResponse, error) {
	return &service.EncryptResponse{Ciphertext: p.Seal(nil, nil, data, nil), KeyID: keyID}, nil
}

// Decrypt is the inverse of Encrypt.
func (p plugin) Decrypt(
	_ context.Context, _ string, r *service.DecryptRequest,
) ([]byte, error) {
	return p.Open(nil, nil, r.Ciphertext, nil)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: kms SOCKET")
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		log.Fatal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(service.NewGRPCService(os.Args[1], 3*time.Second, plugin{aead}).ListenAndServe())
}
