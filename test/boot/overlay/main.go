// Command overlay prints a cluster.yaml with what a kind of machines needs: one configuration of
// a test serves every kind.
//
//	overlay CLUSTER OVERLAY
//
// Maps are merged. A list gets the items of the overlay that it does not have yet, at its end. Any
// other value of the overlay replaces the cluster's.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: overlay CLUSTER OVERLAY")
		os.Exit(2)
	}
	cluster, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
	over, err := read(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
	if err := write(os.Stdout, merge(cluster, over)); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

// write writes a document as the clusters of the tests are written: the scripts change lines of it.
// Maps come in the order of their keys, and comments are gone.
func write(to io.Writer, document any) error {
	encoder := yaml.NewEncoder(to)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	return errors.Join(encoder.Encode(document), encoder.Close())
}

// read returns the YAML document in the file. It fails if the file cannot be read, or is not YAML.
func read(path string) (document any, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return document, nil
}

// merge returns base with the values of over. It may change base.
func merge(base, over any) any {
	switch over := over.(type) {
	case map[string]any:
		into, ok := base.(map[string]any)
		if !ok {
			return over
		}
		for key, value := range over {
			into[key] = merge(into[key], value)
		}
		return into
	case []any:
		into, ok := base.([]any)
		if !ok {
			return over
		}
		for _, item := range over {
			if !holds(into, item) {
				into = append(into, item)
			}
		}
		return into
	default:
		return over
	}
}

// holds reports whether the list has an item that equals this one.
func holds(list []any, item any) bool {
	for _, one := range list {
		if reflect.DeepEqual(one, item) {
			return true
		}
	}
	return false
}
