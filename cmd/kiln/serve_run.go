package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/screen"
	"kiln/cmd/kiln/serve"
	"kiln/render"
	"kiln/render/plural"
)

// lastTime is the time that the end of the server waits for a reader of its messages.
const lastTime = time.Second

// run serves. It finds every mistake in its input before it gives a document.
func (f *serveFlags) run(cmd *cobra.Command, dirs []string) error {
	messages := serve.NewQueue(cmd.ErrOrStderr(), func(lines int) []byte {
		return fmt.Appendf(nil, "kiln: %s missing here, because nobody read them\n",
			plural.Count(lines, "line"))
	})
	defer messages.End(lastTime)
	s, err := serve.New(dirs, serve.Options{
		State: cmp.Or(f.state, filepath.Join(dirs[0], "served.json")),
		Again: f.again, Peers: f.peers, PoolLimit: f.poolLimit, Window: f.window,
		Warn: func(line string) { message.Notes(messages, []string{line}) },
	})
	if err != nil {
		return err
	}
	settings, err := f.tls(cmd.InOrStdin(), s)
	if err != nil {
		return err
	}
	log := cmd.ErrOrStderr()
	if f.log != "" {
		file, err := serve.OpenLog(f.log, cmd.OutOrStdout(), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		log = file
	}
	l, url, err := f.listener(cmd.Context(), settings)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	if err := s.Begin(log); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	f.begin(out, s, url)
	message.Notes(messages, startWarnings(s))
	// A signal ends the server, rather than the program, so that transfers and the log come to an
	// end.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	err = s.Serve(ctx, l)
	stop()
	messages.End(lastTime)
	// The last messages wait for no reader either.
	screen.Hurry(cmd.ErrOrStderr(), lastTime)
	screen.Hurry(out, lastTime)
	f.end(out, s, messages.Lost())
	if err != nil {
		return servedError{err}
	}
	return nil
}

// tls returns the settings of TLS with the server's certificate, or nil for plain HTTP. It fails if
// the bundle is another cluster's.
func (f *serveFlags) tls(in io.Reader, s *serve.Server) (*tls.Config, error) {
	if f.secrets == "" {
		return nil, nil
	}
	b, _, err := render.GivenBundle(f.secrets, in)
	if err != nil {
		return nil, err
	}
	if name, id := s.Cluster(); b.Cluster != id {
		return nil, fmt.Errorf("%s: the bundle of %s (%s), and the documents are of %s (%s); "+
			"machines would not trust its certificate", f.secrets, b.Name, b.Cluster, name, id)
	}
	return serve.TLS(b, f.names, time.Now().Add(f.window))
}

// listener returns the listener of the server, and its URL. It fails if the address cannot be
// listened on, or if it is not loopback although the server speaks plain HTTP without --plain-http.
func (f *serveFlags) listener(
	ctx context.Context, settings *tls.Config,
) (l net.Listener, url string, err error) {
	var config net.ListenConfig
	l, err = config.Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, "", fmt.Errorf("--listen: %w", err)
	}
	if settings != nil {
		return tls.NewListener(l, settings), "https://" + l.Addr().String(), nil
	}
	if addr, ok := l.Addr().(*net.TCPAddr); !f.plain && (!ok || !addr.IP.IsLoopback()) {
		err = fmt.Errorf("--listen %s: is not loopback here (%s)", f.listen, l.Addr())
		return nil, "", errors.Join(err, l.Close())
	}
	return l, "http://" + l.Addr().String(), nil
}

// begin prints what the server serves, to whom, and for how long.
func (f *serveFlags) begin(out io.Writer, s *serve.Server, url string) {
	name, _ := s.Cluster()
	message.Printf(out, "%s: the documents of %s for %s, until %s\n", url, name,
		plural.Count(s.Machines(), "machine"), time.Now().Add(f.window).Format(time.RFC3339))
	if f.peers.Any() {
		message.Printf(out, "to the machines' own addresses, and from: %s\n", f.peers)
	} else {
		message.Printf(out, "to the machines' own addresses alone; "+
			"others, such as those of DHCP, need --from\n")
	}
	if fetched := s.Fetched(); len(fetched) > 0 {
		message.Printf(out, "fetched already: %s; --again NODE gives a document once more\n",
			message.Names(fetched))
	}
}

// startWarnings returns notes about machines that will not get what they need.
func startWarnings(s *serve.Server) (warnings []string) {
	if names := s.Unreachable(); len(names) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: the addresses of its machines are not "+
			"known, so nobody gets the document; name their network: --from %s=10.0.8.0/22",
			strings.Join(names, ", "), names[0]))
	}
	if missing := s.Missing(); len(missing) > 0 {
		warnings = append(warnings, fmt.Sprintf("the scripts of kiln netboot name files that are "+
			"not there: %s; copy images to where they are named, run kiln netboot again for its "+
			"own files, and start kiln serve again", message.Names(missing)))
	}
	for _, line := range s.Withheld() {
		warnings = append(warnings, line+": nobody gets it; put the file that machines boot in "+
			"its place, or move it out of the folder")
	}
	return warnings
}

// end prints which machines have not fetched a document, and what happened.
func (f *serveFlags) end(out io.Writer, s *serve.Server, lost int) {
	left := s.Left()
	message.Printf(out, "%d of %s fetched a document\n",
		s.Machines()-len(left), plural.Count(s.Machines(), "machine"))
	if more := len(left) - message.MaxListed; more > 0 {
		left = append(left[:message.MaxListed], fmt.Sprintf("and %d more", more))
	}
	if len(left) > 0 {
		message.Printf(out, "not fetched: %s\n", strings.Join(left, ", "))
	}
	for _, line := range s.Alarms() {
		message.Printf(out, "%s\n", line)
	}
	if lost += s.LostLines(); lost > 0 {
		message.Printf(out, "lines that are not in the log or on standard error: %d\n", lost)
	}
}
