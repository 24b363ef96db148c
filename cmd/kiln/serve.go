package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/screen"
	"kiln/cmd/kiln/serve"
	"kiln/render"
)

type serveFlags struct {
	listen, secrets, state, log string
	names, again, from          []string
	window                      time.Duration
	poolLimit                   int
	plain                       bool

	peers serve.Peers // what from says
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve DIR...",
		Short: "Hand each machine its document over HTTP, once and for a bounded time",
		Long: "Hand each machine its document over HTTP, once and for a bounded time. DIR is a folder that kiln render wrote, and one that kiln netboot wrote.\n" +
			"What is a machine's goes to the machine's own addresses, as cluster.yaml has them. --from lets in\n" +
			"others: machines that boot with an address of DHCP, machines behind a NAT or a proxy, and the\n" +
			"machines of pools, whose addresses nobody knows.\n" +
			"A document counts as fetched when all of it arrived; one that was cut off may be fetched again. Whatever else is asked for is not there (404).\n" +
			"With --secrets the server speaks TLS, with a certificate of the cluster's CA; without it, it answers on loopback alone. docs/delivery.md says more.",
		Example: `  kiln serve ./nodes --listen 10.0.0.5:8443 --secrets prod.secrets.yaml --tls-name boot.example.com
  kiln serve ./nodes --listen 10.0.0.5:8443 --secrets prod.secrets.yaml --from blue=10.8.0.0/16
  kiln serve ./nodes ./netboot --listen 10.0.0.5:8080 --plain-http --from 10.0.0.0/24 --window 20m --log audit.log
  kiln serve ./nodes --from 127.0.0.1 --again worker-3`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if err := f.wrong(); err != nil {
				return err
			}
			return f.run(cmd, dirs)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address and port to answer on")
	durationVar(cmd, &f.window, "window", time.Hour, "how long, from now on, documents may be fetched")
	flags.StringVar(&f.secrets, "secrets", "", "the bundle, for a TLS certificate of the cluster's CA")
	flags.StringSliceVar(&f.names, "tls-name", nil, "names and addresses by which machines reach the server (default: the address of --listen)")
	flags.BoolVar(&f.plain, "plain-http", false, "answer without TLS beyond loopback: whoever listens on the network reads every secret of the machines")
	flags.StringArrayVar(&f.from, "from", nil, "networks from which documents may be fetched, beside "+
		"each machine's own addresses: [NODE=]NETWORK[,NETWORK…] or any")
	flags.IntVar(&f.poolLimit, "pool-limit", 100, "to how many machines of a pool its document is given")
	flags.StringVar(&f.state, "state", "", "the file that remembers what was fetched (default: served.json in the first DIR)")
	flags.StringSliceVar(&f.again, "again", nil, "machines and pools that may fetch their documents once more")
	flags.StringVar(&f.log, "log", "", "the file to which a line of JSON is added for each request (default: standard error)")
	return cmd
}

// dnsName is what a certificate can have for a name.
var dnsName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)

// wrong returns what is wrong with the flags, and completes them.
func (f *serveFlags) wrong() error {
	host, port, err := net.SplitHostPort(f.listen)
	if err != nil || port == "" {
		return usageError{fmt.Errorf("--listen %s: want an address and a port, such as 10.0.0.5:8443", f.listen)}
	}
	if f.peers, err = serve.ParsePeers(f.from); err != nil {
		return usageError{err}
	}
	switch {
	case f.window <= 0:
		return usageError{fmt.Errorf("--window %s: want a time ahead, such as 1h", f.window)}
	case f.poolLimit < 1:
		return usageError{fmt.Errorf("--pool-limit %d: want how many machines a pool has, 1 or more", f.poolLimit)}
	case f.secrets == "" && len(f.names) > 0:
		return usageError{errors.New("--tls-name: a certificate needs the cluster's CA; name the bundle with --secrets")}
	case f.secrets != "" && f.plain:
		return usageError{errors.New("--secrets and --plain-http: the one is for TLS, the other for none; name one of them")}
	case loopback(host) && !f.peers.Any():
		return usageError{fmt.Errorf("--listen %s: this computer alone reaches it, and no machine has "+
			"such an address: --from 127.0.0.1 gives documents to everybody on this computer, such as a "+
			"proxy before the server; machines need --listen with an address of their network", f.listen)}
	case f.secrets == "" && !f.plain && !loopback(host):
		return usageError{fmt.Errorf("--listen %s: documents hold secrets, and this address is not loopback: give --secrets for TLS, or --plain-http if nobody else can listen on that network", f.listen)}
	case f.secrets != "" && len(f.names) == 0:
		if addr, err := netip.ParseAddr(host); host == "" || err == nil && addr.IsUnspecified() {
			return usageError{fmt.Errorf("--listen %s: says no address by which machines reach it; name it with --tls-name boot.example.com", f.listen)}
		}
		f.names = []string{host}
	}
	for _, name := range f.names {
		if _, err := netip.ParseAddr(name); err != nil && !dnsName.MatchString(name) {
			return usageError{fmt.Errorf("--tls-name %s: neither a host name nor an IP address", name)}
		}
	}
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// run serves. Everything that can be wrong shows before anything is written.
func (f *serveFlags) run(cmd *cobra.Command, dirs []string) error {
	state := cmp.Or(f.state, filepath.Join(dirs[0], "served.json"))
	messages := serve.NewQueue(cmd.ErrOrStderr(), func(lines int) []byte {
		return fmt.Appendf(nil, "kiln: %s missing here, because nobody read them\n", message.Count(lines, "line"))
	})
	defer messages.End(lastTime)
	warn := func(line string) { message.Printf(messages, "kiln: %s\n", line) }
	s, err := serve.New(dirs, serve.Options{
		State: state, Again: f.again, Peers: f.peers, PoolLimit: f.poolLimit, Window: f.window, Warn: warn,
	})
	if err != nil {
		return err
	}
	settings, err := f.tls(cmd.InOrStdin(), s)
	if err != nil {
		return err
	}
	lines := cmd.ErrOrStderr()
	if f.log != "" {
		file, err := serve.OpenLog(f.log, cmd.OutOrStdout(), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		lines = file
	}
	l, url, err := f.listener(cmd.Context(), settings)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	if err := s.Begin(lines); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	name, _ := s.Cluster()
	message.Printf(out, "%s: the documents of %s for %s, until %s\n", url, name, message.Count(s.Machines(), "machine"), time.Now().Add(f.window).Format(time.RFC3339))
	if f.peers.Any() {
		message.Printf(out, "to the machines' own addresses, and from: %s\n", f.peers)
	} else {
		message.Printf(out, "to the machines' own addresses alone; others, such as those of DHCP, need --from\n")
	}
	if given := s.Given(); len(given) > 0 {
		message.Printf(out, "fetched already: %s; --again NODE gives a document once more\n", message.Names(given))
	}
	if names := s.Unreachable(); len(names) > 0 {
		warn(fmt.Sprintf("%s: the addresses of its machines are not known, so nobody gets the document; "+
			"name their network: --from %s=10.0.8.0/22", strings.Join(names, ", "), names[0]))
	}
	if missing := s.Missing(); len(missing) > 0 {
		warn(fmt.Sprintf("the scripts of kiln netboot name what is not there: %s; copy images to where they are "+
			"named, run kiln netboot again for its own files, and start kiln serve again", message.Names(missing)))
	}
	// While documents are given a signal ends the server, and not the program.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	err = s.Serve(ctx, l)
	stop()
	messages.End(lastTime)
	// What is left to say waits for no reader either.
	screen.Hurry(cmd.ErrOrStderr(), lastTime)
	screen.Hurry(out, lastTime)
	if err != nil {
		return err
	}
	f.report(out, s)
	if n := s.LostLines() + messages.Lost(); n > 0 {
		message.Printf(out, "lines that are not in the log or on standard error: %d\n", n)
	}
	return nil
}

// lastTime is how long the end waits for somebody who reads what the server has said.
const lastTime = time.Second

// listener returns what the server answers on, and its URL.
func (f *serveFlags) listener(ctx context.Context, settings *tls.Config) (net.Listener, string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, "", fmt.Errorf("--listen: %w", err)
	}
	if settings != nil {
		return tls.NewListener(l, settings), "https://" + l.Addr().String(), nil
	}
	if addr, ok := l.Addr().(*net.TCPAddr); !f.plain && (!ok || !addr.IP.IsLoopback()) {
		return nil, "", errors.Join(fmt.Errorf("--listen %s: is not loopback here (%s)", f.listen, l.Addr()), l.Close())
	}
	return l, "http://" + l.Addr().String(), nil
}

// tls returns the server's certificate, or nil if it speaks plain HTTP.
func (f *serveFlags) tls(in io.Reader, s *serve.Server) (*tls.Config, error) {
	if f.secrets == "" {
		return nil, nil
	}
	b, _, err := render.GivenBundle(f.secrets, in)
	if err != nil {
		return nil, err
	}
	if name, id := s.Cluster(); b.Cluster != id {
		return nil, fmt.Errorf("%s: the bundle of %s (%s), and the documents are of %s (%s); machines would not trust its certificate", f.secrets, b.Name, b.Cluster, name, id)
	}
	return serve.TLS(b, f.names, time.Now().Add(f.window))
}

// report says what is left when the server has ended.
func (f *serveFlags) report(out io.Writer, s *serve.Server) {
	left := s.Left()
	message.Printf(out, "%d of %s fetched a document\n", s.Machines()-len(left), message.Count(s.Machines(), "machine"))
	if more := len(left) - message.MaxListed; more > 0 {
		left = append(left[:message.MaxListed], fmt.Sprintf("and %d more", more))
	}
	if len(left) > 0 {
		message.Printf(out, "not fetched: %s\n", strings.Join(left, ", "))
	}
	for _, line := range s.Alarms() {
		message.Printf(out, "%s\n", line)
	}
}
