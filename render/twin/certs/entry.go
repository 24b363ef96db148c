// Package certs lists what has an end in a cluster: certificates, bootstrap tokens and kubeconfigs,
// with who renews each. It reads files of machines, whole or as a review twin shows them, and
// prints the list as a table. Nothing in the list is a secret. The time comes in
// as an argument.
package certs

import (
	"cmp"
	"slices"
	"time"
)

// Kinds of entries.
const (
	Certificate = "certificate"
	Token       = "token"
	Kubeconfig  = "kubeconfig"
)

// Kinds lists the kinds of entries.
var Kinds = []string{Certificate, Kubeconfig, Token}

// Renewal says what renews an entry before it ends.
type Renewal string

// The ways to renew an entry.
const (
	Itself     Renewal = "itself"
	Renew      Renewal = "renew"
	Render     Renewal = "render"
	NewCA      Renewal = "new-ca"
	ExternalCA Renewal = "external-ca"
	Request    Renewal = "request"
	PoolToken  Renewal = "pool-token"
	FirstBoot  Renewal = "first-boot"
	Replaced   Renewal = "replaced"
	Yours      Renewal = "yours"
	NoEnd      Renewal = "none"
)

// meanings explains each way to renew an entry, in the order of the legend.
var meanings = []struct {
	Renewal
	text string
}{
	{Itself, "the kubelet renews it on the machine, long before it ends"},
	{Renew, "kiln secrets renew, render, and follow kiln plan"},
	{Render, "kiln secrets renew; the next kiln render writes it"},
	{Request, "kiln certs csr, have it signed, kiln certs add, render, and follow kiln plan"},
	{ExternalCA, "what it has signed ends with it; its key is not in the bundle " +
		"(docs/external-ca.md)"},
	{NewCA, "what it has signed ends with it; kiln secrets rotate brings a new CA, in stages"},
	{PoolToken, "no machine joins the pool after it: run kiln token renew, and do what it says"},
	{Replaced, "the pool has a new token; machines with an older document join until this end"},
	{FirstBoot, "only the first boot uses it; a machine that runs does not need it"},
	{Yours, "kiln did not make it: put a later one in its place, render, follow kiln plan"},
	{NoEnd, "it holds no certificate and no token that could end"},
}

// Entry is a certificate, token or kubeconfig in one file of one machine. All strings may be
// printed on a terminal.
type Entry struct {
	Machine string `json:"machine,omitempty"` // empty for the operator's
	Pool    bool   `json:"pool,omitempty"`
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	// In is how it is packed in the file, outermost first.
	In      []string `json:"in,omitempty"`
	Subject string   `json:"subject,omitempty"`
	Issuer  string   `json:"issuer,omitempty"`
	SANs    []string `json:"sans,omitempty"`
	CA      bool     `json:"ca,omitempty"`
	// Begins and Ends are nil if they are not known: the file does not say them.
	Begins  *time.Time `json:"begins,omitempty"`
	Ends    *time.Time `json:"ends,omitempty"`
	Renewal Renewal    `json:"renewal"`
	// SHA256 is the fingerprint of the certificate; empty if only a review twin is known.
	SHA256 string `json:"sha256,omitempty"`
	// Fault says why the certificate cannot be read; empty if it can.
	Fault string `json:"fault,omitempty"`
}

// Counts reports whether the end of the entry is trouble: not if only the first boot needs it, or
// if a new token has its place.
func (e *Entry) Counts() bool { return e.Renewal != FirstBoot && e.Renewal != Replaced }

// Due reports whether somebody has to do something about the entry by that time: it has ended by
// then, or cannot be read, and nothing renews it by itself. The token of a pool is due only in a
// list of tokens: it is meant to end, and only a pool that still grows needs another.
func (e *Entry) Due(at time.Time, kind string) bool {
	switch {
	case !e.Counts():
		return false
	case e.Fault != "":
		return true // nobody knows when it ends
	case e.Renewal == Itself, e.Renewal == PoolToken && kind != Token:
		return false
	}
	return e.ended(at)
}

// ended reports whether the entry has ended at that time.
func (e *Entry) ended(at time.Time) bool { return e.Ends != nil && !e.Ends.After(at) }

// Sort sorts entries: the one that ends first comes first, those without a known end come last.
func Sort(list []Entry) {
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Or(
			compareEnds(a.Ends, b.Ends),
			cmp.Compare(a.Machine, b.Machine), compareBool(a.Pool, b.Pool),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.SHA256, b.SHA256),
			slices.Compare(a.In, b.In),
		)
	})
}

func compareEnds(a, b *time.Time) int {
	switch {
	case a != nil && b != nil:
		return a.Compare(*b)
	case a != nil:
		return -1
	case b != nil:
		return 1
	}
	return 0
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// identity returns what tells a CA from others, also where only a review twin is known.
func (e *Entry) identity() string { return e.Subject + "\n" + day(e.Begins) + "\n" + day(e.Ends) }

// Filter returns the entries of one kind, or all if kind is empty.
func Filter(list []Entry, kind string) []Entry {
	if kind == "" {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e Entry) bool { return e.Kind != kind })
}
