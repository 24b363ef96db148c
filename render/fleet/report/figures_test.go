package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
	"kiln.dev/kiln/render/twin/certs"
	"kiln.dev/kiln/render/twin/change"
)

// machine returns a machine with a label for its zone, unless the zone is empty.
func machine(name, role, zone string) *change.Machine {
	m := &change.Machine{Name: name, Role: role}
	if zone != "" {
		m.Entries = change.Entries{{
			Key:     change.Key{Kind: "file", ID: plan.KubeletDropIn},
			Content: []byte("ExecStart=kubelet --node-labels=a=b," + zoneLabel + "=" + zone + "\n"),
		}}
	}
	return m
}

// drawn returns the places of a picture with the names and the classes of their machines.
func drawn(t topology) (out []string) {
	for _, p := range t.Places {
		text := p.Title + ":"
		for _, c := range p.Cards {
			text += fmt.Sprintf(" %s/%s%v", c.Name, c.Class(), c.Steps)
		}
		out = append(out, text)
	}
	return out
}

// TestTopology: machines stand by zone or, if no machine has one, by role; control planes come
// first, worker-10 after worker-2, and pools last. Without a change nothing has a mark.
func TestTopology(t *testing.T) {
	t.Parallel()
	pool := machine("p", "worker", "b")
	pool.Pool = true
	old := &change.Cluster{Machines: []*change.Machine{
		machine("cp-1", "control-plane", "b"), machine("worker-10", "worker", "a"),
		machine("worker-2", "worker", "a"), machine("x", "worker", ""), pool,
	}}
	require.Equal(t, []string{"a: worker-2/same[] worker-10/same[]", "b: cp-1/same[]",
		"No zone: x/same[]", "Pools: p/same[]"}, drawn(topologyOf(&Input{Cluster: old})))
	new := &change.Cluster{Machines: []*change.Machine{
		machine("cp-1", "control-plane", ""), machine("worker-2", "worker", ""),
		machine("worker-3", "worker", ""),
	}}
	bare := topologyOf(&Input{Cluster: new})
	require.Equal(t, []string{"Control planes: cp-1/same[]",
		"Workers: worker-2/same[] worker-3/same[]"}, drawn(bare))
	require.Empty(t, bare.Legend)
	require.Equal(t, []string{"cp-1"}, bare.Planes)

	in := &Input{Cluster: new, Diff: change.Compare(old, new), Steps: &rollout.Steps{
		Machines: []rollout.Verdict{
			{Verdict: rollout.Add, Machines: []string{"worker-3"}},
			{Verdict: rollout.Replace, Machines: []string{"cp-1"}, Before: "2027-01-01"},
			{Verdict: rollout.Remove, Machines: []string{"worker-10", "x"}, Pools: []string{"p"}},
			{Verdict: rollout.Nothing, Machines: []string{"worker-2"}},
		},
		List: []rollout.Step{
			{Do: rollout.Replace, Machines: []string{"cp-1"}},
			{Do: rollout.Add, Machines: []string{"worker-3"}},
			{Do: rollout.Live, Machines: []string{"cp-1"}},
			{Do: rollout.Remove, Pools: []string{"p"}},
		},
	}}
	got := topologyOf(in)
	require.Equal(t, []string{"a: worker-10/remove[]", "No zone: cp-1/replace[1 3] " +
		"worker-2/same[] worker-3/add[2] x/remove[]", "Pools: p/remove[4]"}, drawn(got))
	require.Equal(t, "2027-01-01", got.Places[1].Cards[0].Before)
	require.Empty(t, got.Places[2].Cards[0].ID, "what is removed has no section")
	require.Len(t, got.Legend, 4)
	require.Equal(t, "add", got.Legend[0].Word)
}

// TestInstruction: a line is divided into a command and a note. A button copies only what no shell
// takes for anything else, and never a sentence.
func TestInstruction(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"kubectl drain NAME --force":             "[kubectl drain <NAME> --force] copy",
		"kubectl etcd-OTHER  # the ID of NAME":   "[kubectl etcd-<OTHER>] the ID of <NAME> copy",
		"kubectl etcd-a member remove ID":        "[kubectl etcd-a member remove <ID>] copy",
		"OTHER is any but NAME":                  "[] <OTHER> is any but <NAME>",
		"kubectl delete node a, and take it out": "[kubectl delete node a] and take it out copy",
		"kubectl member list has NAME, and no":   "[kubectl member list] has <NAME>, and no copy",
		"kubectl get node a says Ready, v1":      "[kubectl get node a] says Ready, v1 copy",
		"kubectl delete what is gone:":           "[] kubectl delete what is gone:",
		"give it its document, and power it on":  "[] give it its document, and power it on",
		"kubectl label node a x=$(id)":           "[kubectl label node a x=$(id)]",
		"kubectl label node a x=1;id":            "[kubectl label node a x=1;id]",
		"rm blue-token.yaml":                     "[rm blue-token.yaml] copy",
		"  configmap-kube-proxy.yaml":            "[] configmap-kube-proxy.yaml",
	} {
		end := "  # "
		if strings.Contains(line, " says ") {
			end = " says "
		}
		i := instructionOf(line, end)
		got := "[" + marked(i.Command) + "] " + marked(i.Note)
		if i.Plain {
			got = strings.TrimSpace(got) + " copy"
		}
		require.Equal(t, want, strings.TrimSpace(got), line)
		require.Equal(t, line[0] == ' ', i.Item, line)
	}
}

// marked returns words with their placeholders in brackets.
func marked(list []word) (text string) {
	for _, w := range list {
		if w.Var {
			w.Text = "<" + w.Text + ">"
		}
		text += w.Text
	}
	return text
}

// TestLanes: a wave has as many machines as may be away, waves of all steps follow each other, and
// each bar begins where the one before ends.
func TestLanes(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 5 {
		many = append(many, fmt.Sprintf("w-%d", 10-i))
	}
	lanes := lanesOf(&rollout.Steps{List: []rollout.Step{
		{Do: rollout.Apply, How: []rollout.Line{{Text: "kubectl apply"}}},
		{Do: rollout.Replace, Machines: many, AtATime: 2},
		{Do: rollout.Add, Machines: []string{"a", "b"}},
		{Do: rollout.Replace, Pools: []string{"p"}, Nodes: []string{"n-10", "n-9"}},
		{Do: rollout.Live, Machines: []string{"a"}, Pools: []string{"p"}},
		{Do: rollout.Snapshot, Machines: []string{"cp"}},
	}})
	var got []string
	left := 0
	for _, l := range lanes {
		require.InDelta(t, left, l.Left, 1)
		left = l.Left + l.Width
		for _, w := range l.Waves {
			got = append(got, fmt.Sprint(l.Number, w.Number, w.Machines))
		}
	}
	require.InDelta(t, 1000, left, 2)
	require.Equal(t, 8, waves(lanes))
	require.Equal(t, "of it n-9, n-10, as many at a time as --max-unavailable says",
		lanes[3].Waves[0].Note)
	require.Equal(t, []string{"1 1 []", "2 2 [w-6 w-7]", "2 3 [w-8 w-9]", "2 4 [w-10]",
		"3 5 [a b]", "4 6 [pool p]", "5 7 [a pool p]", "6 8 [cp]"}, got)
	require.Empty(t, lanesOf(nil))
	require.Empty(t, lanesOf(&rollout.Steps{}))
}

// TestEnds: what has to be renewed by people stands first, then what renews itself; what ends after
// thirteen months is no lane. Machines run with what the older state gave them.
func TestEnds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 23, 0, 0, 0, time.UTC)
	entry := func(machine string, days int, renewal certs.Renewal) certs.Entry {
		end := now.AddDate(0, 0, days)
		return certs.Entry{Machine: machine, Kind: certs.Certificate, Subject: "CN=" + machine,
			Ends: &end, Renewal: renewal, Pool: machine == "p"}
	}
	pool := machine("p", "worker", "")
	pool.Pool = true
	in := &Input{Now: now, Cluster: &change.Cluster{Machines: []*change.Machine{
		machine("cp", "control-plane", ""), machine("a", "worker", ""), machine("b", "worker", ""),
		pool,
	}}}
	in.Ends = []certs.Entry{
		entry("cp", 2, certs.FirstBoot), entry("a", 3, certs.Itself),
		entry("p", 7, certs.PoolToken), entry("cp", 7, certs.PoolToken),
		entry("a", 20, certs.Renew),
		entry("b", 60, certs.Renew), entry("", 300, certs.Render), entry("cp", 900, certs.NewCA),
		entry("b", 900, certs.NewCA), {Machine: "a", Kind: certs.Token},
	}
	list := func(c calendar) (out []string) {
		for _, l := range append(c.Lanes, c.Later...) {
			out = append(out, fmt.Sprint(l.Who, " ", l.When(), " ", l.Class(), " ", l.What, l.Then))
		}
		return out
	}
	c := endsOf(in)
	require.Equal(t, []string{
		"Workers 2026-12-16 … 2027-01-25 act 2 certificates on 2 machines",
		"Operator 2027-09-22 act 1 certificate",
		"Workers 2026-11-29 self 1 certificate",
		"Control planes 2026-11-28 idle 1 certificate",
		"Pool p 2026-12-03 idle 1 certificate",
		"CAs 2029-05-14 act CN=b, CN=cp",
	}, list(c))
	require.Equal(t, "Workers", c.First.Who)
	require.True(t, c.Near(c.Lanes[0]))
	require.False(t, c.Near(c.Lanes[1]) || c.Near(c.Lanes[2]) || c.Ended(c.Lanes[0]))
	require.Equal(t, "2026-11-26 2027-12-26", date(c.From)+" "+date(c.Until))
	require.Len(t, c.Months, 13)
	require.Equal(t, []month{{12, "Dec"}, {91, "2027"}}, c.Months[:2])
	require.InDelta(t, 1000*30/395, c.Soon, 1)
	l := c.Lanes[0]
	require.InDelta(t, 1000*20/395, l.Width, 3)
	require.InDelta(t, 1000*60/395, l.Width+l.Tail, 3)

	in.Running = []certs.Entry{entry("a", -1, certs.Renew), entry("gone", 5, certs.Renew)}
	in.Diff = change.Compare(&change.Cluster{Machines: []*change.Machine{
		machine("a", "worker", ""), machine("gone", "worker", ""),
	}}, in.Cluster)
	c = endsOf(in)
	require.Equal(t, "Workers 2026-11-25 … 2027-01-25 act 3 certificates on 3 machines"+
		"2026-12-16 … 2027-01-25", list(c)[0])
	require.True(t, c.Ended(c.Lanes[0]) && c.Near(c.Lanes[0]))
}

// TestNetworks: addresses stand in the network around them, in both families.
func TestNetworks(t *testing.T) {
	t.Parallel()
	m := machine("a", "worker", "")
	m.Properties = change.Properties{{Name: "addresses", Value: "10.0.0.9,fd01::9"}}
	m.Entries = change.Entries{
		{Key: change.Key{Kind: "file", ID: "/var/lib/kubelet/config.yaml"},
			Content: []byte("clusterDNS: [10.96.0.10]\n")},
	}
	c := &change.Cluster{Machines: []*change.Machine{m}, Properties: change.Properties{
		{Name: "endpoint", Value: "https://10.0.0.1:6443"},
		{Name: "pod subnets", Value: "10.244.0.0/16,fd00:9::/48"},
		{Name: "service subnets", Value: "10.96.0.0/12,fd02::/112"},
	}}
	var got []string
	for _, n := range networksOf(c) {
		text := n.Title + " " + n.Range + ":"
		for _, p := range n.Parts {
			text += " " + p.Address + "=" + p.Who
		}
		got = append(got, text)
	}
	require.Equal(t, []string{
		"Machines 10.0.0.0/24: 10.0.0.1=endpoint 10.0.0.9=a", "Machines fd01::/64: fd01::9=a",
		"Pods 10.244.0.0/16:", "Pods fd00:9::/48:",
		"Services 10.96.0.0/12: 10.96.0.1=kubernetes, the API server 10.96.0.10=DNS",
		"Services fd02::/112:",
	}, got)
	require.Empty(t, networksOf(&change.Cluster{}))
}

// TestFills: similar machines are one row, the fullest first, with the share of the user.
func TestFills(t *testing.T) {
	t.Parallel()
	fields := []Field{{"a", 4}, {"b", 3000}, {"c", 2}, {"d", 1}}
	list := fillsOf([]Size{
		{Machine: "w-10", Role: "worker", Bytes: 400, Limit: 1000},
		{Machine: "w-9", Role: "worker", Bytes: 500, Limit: 1000, Own: 100, Fields: fields},
		{Machine: "free", Role: "worker", Bytes: 999},
		{Machine: "p", Pool: true, Role: "worker", Bytes: 950, Limit: 1000},
	})
	require.Len(t, list, 3)
	require.Equal(t, "pool p", list[0].Who())
	require.True(t, list[0].Full())
	w := list[1]
	require.Equal(t, "w-9, w-10 w-9", w.Who()+" "+w.Fullest)
	require.Equal(t, []int{50, 400, 100}, []int{w.Percent(), w.Kiln(), w.Yours()})
	require.Equal(t, 400, w.Least)
	require.Equal(t, "a 4, b 3,000, c 2, and 1 more", w.Largest())
	require.Equal(t, 0, list[2].Percent())
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, thousands(n))
	}
}

// TestExposed: each kind of reader and each worth is a phrase.
func TestExposed(t *testing.T) {
	t.Parallel()
	e := Exposed{Machines: []string{"a"}, Copy: "document"}
	for _, kind := range target.ReaderKinds {
		e.Readers = append(e.Readers, kind.Name)
	}
	for worth := secret.None; worth <= secret.OfCluster; worth++ {
		e.Holds = worth.String()
		var out strings.Builder
		require.NoError(t, page.ExecuteTemplate(&out, "exposure.html", []Exposed{e}))
		_, text, _ := strings.Cut(out.String(), "<p>Its readers ")
		require.NotEmpty(t, text, e.Holds)
		for _, kind := range e.Readers {
			require.NotRegexp(t, `(They are|,) `+kind+`[,.]`, text)
		}
	}
}

// TestSummary: the figures count machines by what happens to them; without a change, by role.
func TestSummary(t *testing.T) {
	t.Parallel()
	text := func(s summary) (out []string) {
		for _, tile := range s.Tiles {
			out = append(out, tile.Value+" "+tile.Name)
		}
		return out
	}
	c := &change.Cluster{Machines: []*change.Machine{
		machine("cp", "control-plane", ""), machine("a", "worker", ""), machine("b", "worker", ""),
	}}
	require.Equal(t, []string{"1 control plane", "2 workers"},
		text(summaryOf(&view{Input: Input{Cluster: c}})))
	steps := &rollout.Steps{Machines: []rollout.Verdict{
		{Verdict: rollout.Replace, Machines: []string{"b-10"}, Why: []string{"x"}},
		{Verdict: rollout.Replace, Machines: []string{"b-9"}, Pools: []string{"p"}},
		{Verdict: rollout.Nothing, Machines: []string{"c"}},
	}}
	s := summaryOf(&view{Input: Input{Cluster: c, Steps: steps}})
	require.Equal(t, []string{"0 added", "3 replaced", "0 removed", "0 changed live",
		"1 unchanged", "0 steps"}, text(s))
	for _, verdict := range []string{rollout.Wait, rollout.Add, rollout.Replace, rollout.Remove,
		rollout.Live, rollout.NextReplacement, rollout.Nothing} {
		require.NotEmpty(t, fateOf(verdict).Word, verdict)
	}
	require.Len(t, s.Reasons, 3)
	require.Len(t, s.Fates, 2)
	require.Equal(t, "b-9, b-10, pool p", s.Fates[0].Who)
	require.Equal(t, []string{"b-10"}, steps.Machines[0].Machines, "the steps stay as they are")
}
