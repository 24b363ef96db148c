package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/boot/serve"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/text/wording"
)

// lastTime is the time that the end of the server waits for a reader of its messages.
const lastTime = time.Second

// life returns how long the server waits for machines; 0 without --wait.
func (f *serveFlags) life() time.Duration {
	switch {
	case !f.wait:
		return 0
	case f.waitTimeout == 0:
		return f.window
	}
	return f.waitTimeout
}

// run serves. It finds every mistake in its input before it gives a document.
func (f *serveFlags) run(cmd *cobra.Command, dirs []string) error {
	if err := f.check(); err != nil {
		return err
	}
	// A write to standard output or standard error fails if its reader has ended. Without this line
	// it would end the program, and each client that causes an alarm could do that.
	signal.Ignore(syscall.SIGPIPE)
	machines := serve.NewWatch(f.life(), f.form == "json", cmd.OutOrStdout(), cmd.ErrOrStderr())
	messages := serve.NewQueue(machines, func(n int) []byte {
		return fmt.Appendf(nil, "kiln: %s missing here, because nobody read them\n",
			wording.Count(n, "line"))
	})
	defer messages.End(lastTime)
	s, err := serve.New(dirs, serve.Options{
		State: cmp.Or(f.state, filepath.Join(dirs[0], "served.json")),
		Again: f.again, Peers: f.peers, PoolLimit: f.poolLimit, Archive: f.archive,
		Window: f.window, Life: f.life(), Announced: machines.Show,
		Warn: func(line string) { term.Notes(messages, []string{line}) },
	})
	if err != nil {
		return err
	}
	if err := machines.Begin(s); err != nil {
		return err
	}
	settings, err := f.tls(s)
	if err != nil {
		return err
	}
	// From here on a signal ends the server, rather than the program, so that transfers and the log
	// come to an end.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := machines.Log()
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
	if f.form == "json" || machines.PrintsLines() {
		s.PrintStart(messages, url) // standard output has the report alone
	} else {
		s.PrintStart(out, url)
	}
	term.Notes(messages, s.StartWarnings())
	err = machines.Serve(ctx, s, l)
	stop()
	messages.End(lastTime)
	// The last messages wait for no reader either.
	term.Hurry(cmd.ErrOrStderr(), lastTime)
	term.Hurry(out, lastTime)
	lost := messages.Lost() + machines.End()
	switch {
	case f.form == "json":
	case machines.PrintsLines():
		s.PrintEnd(cmd.ErrOrStderr(), lost)
	default:
		s.PrintEnd(out, lost)
	}
	switch {
	case err != nil:
		return servedError{err}
	case f.form == "json":
		err = term.JSON(out, s.Summary(lost))
	}
	return cmp.Or(err, machines.Failure())
}

// tls returns the settings of TLS with the server's certificate, or nil for plain HTTP. It fails if
// the bundle is another cluster's.
func (f *serveFlags) tls(s *serve.Server) (*tls.Config, error) {
	if f.bundle.Secrets == "" {
		return nil, nil
	}
	b, err := f.bundle.Read()
	if err != nil {
		return nil, err
	}
	if name, id := s.Cluster(); b.Cluster != id {
		return nil, fmt.Errorf("%s: the bundle of %s (%s), and the documents are of %s (%s); "+
			"machines would not trust its certificate", f.bundle.Secrets,
			b.Name, b.Cluster, name, id)
	}
	return serve.TLS(b.Bundle, f.names, time.Now().Add(max(f.window, f.life())))
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
