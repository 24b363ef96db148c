package main

import (
	"net"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/vault"
)

type serveFlags struct {
	listen, state, log, form string
	archive                  string
	bundle                   vault.Source
	names, again, from       []string
	window                   time.Duration
	waitTimeout              time.Duration
	poolLimit                int
	plain, wait              bool

	peers serve.Peers // the value of --from
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Annotations: term.Reads(), // a server says itself what it gave
		Use:         "serve DIR...",
		Short:       "Give each machine its document over HTTP, once and for a limited time",
		Long: `Give each machine its document over HTTP, once and for a limited time. DIR is a
folder that kiln render wrote. Another DIR may be a folder that kiln netboot or
kiln lock --save wrote; everybody gets the programs of the latter. With --archive
everybody also gets what kiln archive put into a folder: programs, and images as from a
registry that only reads. The server prints the lines of cluster.yaml for that.

A machine's document goes to the machine's own addresses in cluster.yaml. --from
lets in others: machines that boot with an address of DHCP, machines behind a NAT or
a proxy, and the machines of pools, whose addresses nobody knows. A document counts
as fetched when all of it arrived; after an interrupted transfer it may be fetched
again. The server answers any other request with 404.

The server also takes the states that machines announce of their first boot, where
machines.report has its URL; docs/announcements.md says how. --wait shows them.

With --secrets the server speaks TLS, with a certificate of the cluster's CA.
Without it, the server answers on loopback alone. docs/delivery.md says more.`,
		Example: `  kiln serve ./nodes --listen 10.0.0.5:8443 --secrets prod.secrets.yaml \
    --tls-name boot.example.com
  kiln serve ./nodes --listen 10.0.0.5:8443 --secrets prod.secrets.yaml --from blue=10.8.0.0/16
  kiln serve ./nodes ./netboot --listen 10.0.0.5:8080 --plain-http --from 10.0.0.0/24 \
    --window 20m --log audit.log
  kiln serve ./nodes --listen 10.0.0.5:8080 --plain-http --wait --wait-timeout 30m
  kiln serve ./nodes --from 127.0.0.1 --again worker-3`,
		Args: term.TakeArgs(1, 0, "the folder that kiln render wrote",
			"kiln serve ./nodes --listen 10.0.0.5:8443 --secrets prod.secrets.yaml"),
		RunE: func(cmd *cobra.Command, dirs []string) error { return f.run(cmd, dirs) },
	}
	f.add(cmd)
	return cmd
}

func (f *serveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "answer on this `ADDRESS:PORT`")
	term.DurationFlag(cmd, &f.window, "window", time.Hour,
		"give documents for this `TIME` from now")
	flags.StringVar(&f.bundle.Secrets, "secrets", "", "read the bundle from `FILE`, "+
		"for a TLS certificate of the cluster's CA")
	vault.IdentityFlag(cmd, &f.bundle)
	flags.StringSliceVar(&f.names, "tls-name", nil, "the `NAME` or address by which machines "+
		"reach the server (default: the address of --listen)")
	flags.BoolVar(&f.plain, "plain-http", false, "answer without TLS on other addresses than "+
		"loopback: anyone who listens on the network can read every secret of the machines")
	flags.StringVar(&f.archive, "archive", "", "also give everybody the programs and images in "+
		"this `DIR` of kiln archive: machines.binaries.mirror and machines.registries name the "+
		"server")
	flags.StringArrayVar(&f.from, "from", nil, "let in `[NODE=]NETWORK,...` or any, "+
		"beside each machine's own addresses")
	flags.IntVar(&f.poolLimit, "pool-limit", 100,
		"give the document of a pool to this `NUMBER` of machines")
	flags.StringVar(&f.state, "state", "", "keep the list of fetched documents in `FILE`, "+
		"and what machines announce in FILE.announced (default: served.json in the first DIR)")
	flags.StringSliceVar(&f.again, "again", nil, "give the document of the machine or pool with "+
		"this `NAME` once more")
	flags.StringVar(&f.log, "log", "", "add a line of JSON for each request to `FILE` "+
		"(default: standard error)")
	flags.BoolVar(&f.wait, "wait", false, "show the states that machines announce "+
		"(machines.report), as a table on a terminal and as lines of JSON elsewhere, and end when "+
		"all are done, or with exit code 3 when one has stopped")
	term.DurationFlag(cmd, &f.waitTimeout, "wait-timeout", 0, "with --wait, end with exit code 3 "+
		"after this `TIME`, and give documents no longer than --window (default: --window)")
	term.OutputFlag(cmd, &f.form, "report at the end")
}

// check returns an error if flags are wrong or contradict each other, and completes them.
func (f *serveFlags) check() error {
	host, port, err := net.SplitHostPort(f.listen)
	if err != nil || port == "" {
		return term.UsageErrorf("--listen %s: want an address and a port, such as 10.0.0.5:8443",
			f.listen)
	}
	if f.peers, err = serve.ParsePeers(f.from); err != nil {
		return term.UsageError{Err: err}
	}
	switch {
	case f.window <= 0:
		return term.UsageErrorf("--window %s: want a time ahead, such as 1h", f.window)
	case f.waitTimeout < 0 || f.waitTimeout > 0 && !f.wait:
		return term.UsageErrorf("--wait-timeout %s: want a time ahead, and --wait", f.waitTimeout)
	case f.poolLimit < 1:
		return term.UsageErrorf("--pool-limit %d: want the number of machines in a pool, 1 or more",
			f.poolLimit)
	case f.bundle.Secrets == "" && len(f.names) > 0:
		return term.UsageErrorf("--tls-name: a certificate needs the cluster's CA; " +
			"name the bundle with --secrets")
	case f.bundle.Secrets != "" && f.plain:
		return term.UsageErrorf("--secrets is for TLS and --plain-http for none; " +
			"name one of them")
	case serve.IsLoopback(host) && !f.peers.Any():
		return term.UsageErrorf("--listen %s: this computer alone reaches it, and no machine has "+
			"such an address: --from 127.0.0.1 gives documents to everybody on this "+
			"computer, such as a proxy before the server; machines need --listen with an "+
			"address of their network", f.listen)
	case f.bundle.Secrets == "" && !f.plain && !serve.IsLoopback(host):
		return term.UsageErrorf("--listen %s: documents hold secrets, and this address is not "+
			"loopback: give --secrets for TLS, or --plain-http if nobody else can listen on that "+
			"network", f.listen)
	}
	if f.bundle.Secrets != "" {
		if f.names, err = serve.TLSNames(f.listen, host, f.names); err != nil {
			return term.UsageError{Err: err}
		}
	}
	return nil
}
