// Command store makes an OCI image layout, and a lock of kiln, from the store of a containerd that
// does not run.
//
//	store FOLDER LAYOUT LOCK
//
// FOLDER is containerd's, such as /var/lib/containerd. The images are those of the namespace
// k8s.io, by their names with a tag.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/bbolt"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: store FOLDER LAYOUT LOCK")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "store:", err)
		os.Exit(1)
	}
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
}

func run(folder, layout, lock string) error {
	blobs := filepath.Join(layout, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return err
	}
	from := os.DirFS(filepath.Join(folder, "io.containerd.content.v1.content", "blobs", "sha256"))
	if err := os.CopyFS(blobs, from); err != nil {
		return err
	}
	images, err := named(filepath.Join(folder, "io.containerd.metadata.v1.bolt", "meta.db"), blobs)
	if err != nil {
		return err
	}
	text := "apiVersion: kiln.dev/v1alpha1\nkind: Lock\nartifacts: []\nimages:\n"
	for _, i := range images {
		name := i.Annotations["org.opencontainers.image.ref.name"]
		text += fmt.Sprintf("- name: %q\n  digest: %q\n", name, i.Digest)
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": images})
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{
		filepath.Join(layout, "index.json"): index, lock: []byte(text),
		filepath.Join(layout, "oci-layout"): []byte(`{"imageLayoutVersion":"1.0.0"}`),
	} {
		if err := os.WriteFile(path, content, 0o644); err != nil { // #nosec G306 -- no secret
			return err
		}
	}
	return nil
}

// named returns the images of the database, in the order of their names. The database has buckets
// v1, k8s.io, images, NAME and target (core/metadata/buckets.go of containerd 2.4).
func named(database, blobs string) (list []descriptor, err error) {
	db, err := bbolt.Open(database, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return list, db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte("v1"))
		for _, key := range []string{"k8s.io", "images"} {
			if bucket == nil {
				break
			}
			bucket = bucket.Bucket([]byte(key))
		}
		if bucket == nil {
			return fmt.Errorf("%s has no images", database)
		}
		return bucket.ForEachBucket(func(key []byte) error {
			name, target := string(key), bucket.Bucket(key).Bucket([]byte("target"))
			if target == nil || !strings.Contains(name, "/") || strings.Contains(name, "@") {
				return nil
			}
			d := descriptor{
				MediaType: string(target.Get([]byte("mediatype"))),
				Digest:    string(target.Get([]byte("digest"))),
				Annotations: map[string]string{
					"org.opencontainers.image.ref.name": name,
				},
			}
			info, err := os.Stat(filepath.Join(blobs, strings.TrimPrefix(d.Digest, "sha256:")))
			if err != nil {
				return err
			}
			d.Size = info.Size()
			list = append(list, d)
			return nil
		})
	})
}
