// Package status has the verb status: what a running cluster says of its machines.
package status

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// pause is the time between two looks with --wait.
const pause = 2 * time.Second

// young is how long an API server may refuse a credential that it accepts later: until it holds the
// bindings of a new cluster.
const young = time.Minute

// usualTimeout is how long --wait waits by default.
const usualTimeout = 15 * time.Minute

type flags struct {
	states     state.Reader
	kubeconfig string
	form       string
	wait       bool
	limit      time.Duration // of all questions without --wait
	timeout    time.Duration
	clock      clock
}

// clock is the time that --wait goes by.
type clock struct {
	now   func() time.Time
	after func(time.Duration) <-chan time.Time
}

// Command returns the verb status.
func Command() *cobra.Command { return command(apiserver.Limit, clock{time.Now, time.After}) }

func command(limit time.Duration, c clock) *cobra.Command {
	f := flags{limit: limit, clock: c}
	cmd := &cobra.Command{
		Use:         "status [STATE]",
		Annotations: term.Reads(),
		Short:       "Show how the machines of a running cluster are",
		Long: `Ask the API server of a running cluster how its machines are: their Nodes, how far
their hooks are, static pods, members of etcd and their votes, API objects, the
DaemonSets, Deployments and StatefulSets among them with the reasons of pods that are
not ready, and what ends first. Nothing is changed. With a STATE, kiln says which
machines run its documents, and which are not there.

The exit code is 0 if all is done, and 3 if something is left. With --wait kiln asks
again until all is done, a hook has stopped, the time is over, or for a minute
nothing is left but what the user may not see.

` + state.OneForms,
		Example: `  kiln status --kubeconfig nodes/admin.conf
  kiln status review --kubeconfig nodes/admin.conf --wait --timeout 15m`,
		Args: term.TakeArgs(0, 1, "one state", "kiln status review"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	b := &f.states.Bundle
	set := cmd.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "reach the cluster with the kubeconfig in "+
		"`FILE` (default: the file that KUBECONFIG names, or ~/.kube/config)")
	set.BoolVar(&f.wait, "wait", false, "ask again until all is done or a hook has stopped")
	term.DurationFlag(cmd, &f.timeout, "timeout", usualTimeout,
		"with --wait: give up after this `TIME`")
	set.StringVar(&b.Public, "public", "", "read the public half of the bundle of a configuration "+
		"from `FILE` (default: the bundle, or NAME.public.yaml, beside it)")
	term.OutputFlag(cmd, &f.form, "report")
	return cmd
}

func (f *flags) run(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("timeout") && !f.wait {
		return term.UsageErrorf("--timeout says how long --wait waits: write --wait as well")
	}
	if f.timeout < time.Second {
		return term.UsageErrorf("--timeout %s: write a time from 1s, such as %s", f.timeout,
			usualTimeout)
	}
	f.states.Messages = cmd.ErrOrStderr()
	var wanted *change.Cluster
	if len(args) == 1 {
		var err error
		if wanted, err = f.states.Read(args[0]); err != nil {
			return err
		}
	}
	if f.kubeconfig == "" {
		var err error
		if f.kubeconfig, err = apiserver.DefaultPath(); err != nil {
			return err
		}
	}
	c, err := apiserver.New(f.kubeconfig, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	limit := f.limit
	if f.wait {
		limit = f.timeout
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), limit)
	defer cancel()
	r, err := f.follow(ctx, cmd.OutOrStdout(), c, wanted)
	if err != nil {
		return err
	}
	if !r.Done {
		return term.ErrDifferent
	}
	return nil
}

// follow prints the report, with --wait each time that it is another one, and returns the last one.
func (f *flags) follow(
	ctx context.Context, out io.Writer, c *apiserver.Client, wanted *change.Cluster,
) (*Report, error) {
	var last *Report
	accepted := f.clock.now() // when the credential was last not refused
	for {
		r, err := gather(ctx, c, wanted)
		refused := apiserver.Refused(err)
		switch {
		case err == nil:
			r.URL = c.URL
			r.Ends = ends(c, wanted)
			if !reflect.DeepEqual(last, r) {
				f.print(out, r)
			}
			last = r
		case !f.wait || refused && f.clock.now().Sub(accepted) > young:
			return nil, err
		case ctx.Err() == nil && last == nil:
			term.Printf(f.states.Messages, "kiln: waiting: %v\n", err)
			last = &Report{}
		}
		if !refused && (r == nil || !r.blind) {
			accepted = f.clock.now()
		}
		if r != nil && r.blind && f.clock.now().Sub(accepted) > young {
			return r, nil // its user lacks a right, and not for the moment
		}
		if last != nil && (last.Done || last.Stopped) || !f.wait {
			return last, nil
		}
		select {
		case <-ctx.Done():
			if refused {
				return nil, err
			}
			term.Printf(f.states.Messages, "kiln: the time is over: %s\n", f.timeout)
			if last == nil {
				last = &Report{}
			}
			return last, nil
		case <-f.clock.after(pause):
		}
	}
}

// ends returns what ends first: the kubeconfig's own certificate, and of each state the machine
// whose certificates end first.
func ends(c *apiserver.Client, wanted *change.Cluster) (list []End) {
	if !c.Ends.IsZero() {
		list = append(list, End{"the certificate of this kubeconfig", c.Ends})
	}
	if wanted == nil {
		return list
	}
	var first End
	for _, m := range wanted.Machines {
		when, err := time.Parse(time.RFC3339, m.Properties.Value("until"))
		if err == nil && !m.Pool && (first.When.IsZero() || when.Before(first.When)) {
			first = End{"the certificates in the document of " + m.Name, when}
		}
	}
	if !first.When.IsZero() {
		list = append(list, first)
	}
	return list
}

func (f *flags) print(out io.Writer, r *Report) {
	if f.form == "json" {
		line, _ := json.Marshal(r) // strings, numbers and dates
		term.Printf(out, "%s\n", line)
		return
	}
	term.Printf(out, "%s", Text(r))
}

// Text returns a report for people.
func Text(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.URL, cell(r.Version))
	if r.Etcd != nil {
		fmt.Fprintf(&b, "etcd: %d of %d members vote\n", r.Etcd.Voting, r.Etcd.Members)
	}
	fmt.Fprintf(&b, "API objects: %s\n", r.Objects)
	fmt.Fprintf(&b, "workloads: %d of %d are ready\n", r.Workloads.Ready, r.Workloads.Total)
	for _, u := range r.Unseen {
		fmt.Fprintf(&b, "NOT SEEN %s\n", u)
	}
	if r.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", r.Note)
	}
	if len(r.Older) > 0 {
		fmt.Fprintf(&b, "made from older documents: %s; their platforms may still have those, see "+
			"docs/live.md\n", cell(change.Spans(r.Older)))
	}
	for _, e := range r.Ends {
		fmt.Fprintf(&b, "ends %s: %s\n", e.When.UTC().Format(time.DateOnly), e.What)
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "PROBLEM %s\n", cell(p))
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "MACHINE\tROLE\tNODE\tKUBELET\tDOCUMENT\tHOOK")
	for i := range r.Machines {
		m := &r.Machines[i]
		ready := "Ready"
		if !m.Ready {
			ready = "not Ready"
		}
		switch {
		case m.Kubelet == "":
			ready = "none"
		case m.Cordoned:
			ready += ", cordoned"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Role, ready, dash(m.Kubelet),
			dash(m.Document), dash(m.Hook))
	}
	_ = w.Flush()
	for i := range r.Machines {
		for _, p := range r.Machines[i].Pods {
			fmt.Fprintf(&b, "%s: static pod %s\n", r.Machines[i].Name, cell(p))
		}
	}
	r.Workloads.table(&b)
	return b.String()
}

// maxCell is how many characters of a text from the cluster are shown.
const maxCell = 300

// cell returns a text from the cluster on one line, as a terminal may see it.
func cell(s string) string { return wording.VisibleLine(s, maxCell) }

// dash is cell, with a dash for an empty text.
func dash(s string) string { return cmp.Or(cell(s), "-") }
