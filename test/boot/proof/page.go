package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// page returns the page of a run.
func page(p proof) string {
	var b strings.Builder
	b.WriteString(head)
	about(&b, p)
	summary(&b, p)
	b.WriteString(again)
	failures(&b, p)
	kills(&b, p)
	wiped(&b, p.of("wiped"))
	order(&b, p.of("order"))
	negative(&b, p.of("negative"))
	soak(&b, p)
	steps(&b, p)
	return b.String()
}

// about is the table of what ran where.
func about(b *strings.Builder, p proof) {
	table(b, "what", "value")
	row(b, "begun", p.about["begun"])
	row(b, "ended", ended(p))
	row(b, "commit", "`"+p.about["commit"]+"`")
	row(b, "computer", fmt.Sprintf("%s, %s cores, %s, Linux %s", p.about["processor"],
		p.about["cores"], p.about["memory"], p.about["kernel"]))
	s := loads(p)
	row(b, "load average when a repetition began", fmt.Sprintf("%s, median %s, %s",
		number(s.least), number(s.middle), number(s.most)))
	versions := map[string]string{}
	for _, r := range p.plan {
		maps.Copy(versions, r.versions)
	}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		row(b, name, versions[name])
	}
	b.WriteString("\n")
}

// loads returns how busy the computer was. What it does besides takes seconds from the machines.
func loads(p proof) spread {
	var all []float64
	for _, r := range p.plan {
		if load, err := strconv.ParseFloat(r.run["load"], 64); err == nil {
			all = append(all, load)
		}
	}
	return spreadOf(all)
}

// ended returns when the last repetition ended.
func ended(p proof) (last string) {
	for _, r := range p.plan {
		last = max(last, r.run["ended"])
	}
	return last
}

// titles are the scenarios in the order of the page.
var titles = []struct {
	scenario, title string
	whole           int // how many repetitions a whole run makes
}{
	{"kills", "first boots with a power cut at a random moment", 50},
	{"wiped", "control planes of three that lost their disk", 20},
	{"order", "three control planes in a random order", 20},
	{"negative", "bad documents, each found", 16},
	{"soak", "six machines, replaced in turn under a client", 1},
}

// wholeSoak is how long the soak of a whole run takes.
const wholeSoak = "7200"

// summary says how many repetitions of each scenario passed.
func summary(b *strings.Builder, p proof) {
	table(b, "scenario", "what", "passed", "failed", "not run")
	part := p.about["soak"] != wholeSoak
	for _, t := range titles {
		rs := p.of(t.scenario)
		passed, failed := 0, 0
		for _, r := range rs {
			switch {
			case r.passed:
				passed++
			case r.ended:
				failed++
			}
		}
		part = part || passed+failed < t.whole
		if len(rs) == 0 {
			row(b, t.scenario, t.title, "not planned in this run", "", "")
			continue
		}
		row(b, t.scenario, t.title, fmt.Sprintf("%d of %d", passed, len(rs)),
			strconv.Itoa(failed), strconv.Itoa(len(rs)-passed-failed))
	}
	if !part {
		return
	}
	b.WriteString("\n**This was not a whole run.** A whole one makes ")
	for _, t := range titles {
		fmt.Fprintf(b, "%d %s, ", t.whole, t.scenario)
	}
	fmt.Fprintf(b, "which\ntakes %s seconds.\n", wholeSoak)
}

// failures lists every repetition that failed, with the folder of its evidence.
func failures(b *strings.Builder, p proof) {
	section(b, "Failures")
	none := true
	for _, r := range p.plan {
		if !r.ended || r.passed {
			continue
		}
		if none {
			b.WriteString("The evidence is in `~/.cache/kiln-proof`, or `KILN_PROOF`, of the " +
				"computer that ran this.\n\n")
			table(b, "scenario", "seed", "why", "evidence")
			none = false
		}
		row(b, r.scenario, strconv.Itoa(r.seed), r.why,
			fmt.Sprintf("`%s/%s-%d`", filepath.Base(p.folder), r.scenario, r.seed))
	}
	if none {
		b.WriteString("None.\n")
	}
}

func kills(b *strings.Builder, p proof) {
	rs := p.of("kills")
	section(b, "Kills")
	if absent(b, rs) {
		return
	}
	fmt.Fprintf(b, aboutKills, p.about["kill-within"])
	spreads(b, rs, "cut", "ready", "done")
	stages(b, rs)
	table(b, "seed", "machine", "power cut after", "state on the disk", "Ready", "hook done",
		"result")
	for _, r := range rs {
		row(b, strconv.Itoa(r.seed), r.facts["machine"], r.at("cut"), r.facts["state"],
			r.at("ready"), r.at("done"), r.result())
	}
}

// stages says how many power cuts came in which state of the first boot.
func stages(b *strings.Builder, rs []repetition) {
	count, passed := map[string]int{}, map[string]int{}
	for _, r := range rs {
		if !r.ended {
			continue
		}
		count[r.facts["state"]]++
		if r.passed {
			passed[r.facts["state"]]++
		}
	}
	table(b, "state on the disk at the power cut", "repetitions", "passed")
	for _, state := range slices.Sorted(maps.Keys(count)) {
		row(b, state, strconv.Itoa(count[state]), strconv.Itoa(passed[state]))
	}
	b.WriteString("\n")
}

func wiped(b *strings.Builder, rs []repetition) {
	section(b, "Wiped members")
	if absent(b, rs) {
		return
	}
	b.WriteString(aboutWiped)
	spreads(b, rs, "formed-ready", "formed-done", "ready", "vote", "done")
	table(b, "seed", "machine", "Ready", "vote in etcd", "hook done", "result")
	for _, r := range rs {
		row(b, strconv.Itoa(r.seed), r.facts["machine"], r.at("ready"), r.at("vote"), r.at("done"),
			r.result())
	}
}

func order(b *strings.Builder, rs []repetition) {
	section(b, "Order")
	if absent(b, rs) {
		return
	}
	b.WriteString(aboutOrder)
	spreads(b, rs, "last-power", "ready", "done", "votes")
	table(b, "seed", "order", "last power-on", "all Ready", "hooks done", "three votes", "result")
	for _, r := range rs {
		row(b, strconv.Itoa(r.seed), r.facts["order"], r.at("last-power"), r.at("ready"),
			r.at("done"), r.at("votes"), r.result())
	}
}

func negative(b *strings.Builder, rs []repetition) {
	section(b, "Bad documents")
	if absent(b, rs) {
		return
	}
	b.WriteString(aboutNegative)
	table(b, "seed", "mistake", "kiln, before boot", "fault of the hook", "boot net", "check",
		"seconds", "result")
	for _, r := range rs {
		row(b, strconv.Itoa(r.seed), r.facts["what"], r.found["before"],
			r.fault(), r.found["net"], r.found["ready"], r.at("found"), r.result())
	}
}

func soak(b *strings.Builder, p proof) {
	rs := p.of("soak")
	section(b, "Soak")
	if absent(b, rs) {
		return
	}
	fmt.Fprintf(b, aboutSoak, p.about["soak"], p.about["soak-every"])
	for _, r := range rs {
		table(b, "seed", "acknowledged writes", "reads", "requests that failed", "lost",
			"wrong reads", "longest silence, s", "result")
		row(b, strconv.Itoa(r.seed), r.counted("written"), r.counted("read"),
			r.counted("failed"), r.counted("lost"), r.counted("wrong"), r.counted("silence"),
			r.result())
		b.WriteString("\n")
		table(b, "replaced", "Ready", "vote in etcd", "hook done")
		for _, name := range r.order {
			if who, ok := strings.CutSuffix(name, ".ready"); ok {
				machine, _, _ := strings.Cut(who, ".")
				row(b, machine, r.at(name), r.at(who+".vote"), r.at(who+".done"))
			}
		}
	}
}

// steps shows the chart and its figures.
func steps(b *strings.Builder, p proof) {
	section(b, "Steps of the hook")
	b.WriteString(aboutSteps)
	table(b, "role", "step", "machines", "least", "median", "most")
	for _, role := range []string{"control-plane", "worker"} {
		names, taken := stepTimes(p, role)
		for _, name := range names {
			s := spreadOf(taken[name])
			row(b, role, name, strconv.Itoa(s.count), number(s.least), number(s.middle),
				number(s.most))
		}
	}
}

func section(b *strings.Builder, title string) { fmt.Fprintf(b, "\n## %s\n\n", title) }

// absent reports whether a scenario was not planned, and says so.
func absent(b *strings.Builder, rs []repetition) bool {
	if len(rs) == 0 {
		b.WriteString("Not part of this run.\n")
	}
	return len(rs) == 0
}

// spreads is a table of the figures of all repetitions.
func spreads(b *strings.Builder, rs []repetition, names ...string) {
	table(b, "seconds", "repetitions", "least", "median", "most")
	for _, name := range names {
		s := spreadOf(figures(rs, name))
		row(b, measures[name], strconv.Itoa(s.count), number(s.least), number(s.middle),
			number(s.most))
	}
	b.WriteString("\n")
}

// measures says what the figures mean.
var measures = map[string]string{
	"cut":          "power cut",
	"ready":        "Ready",
	"done":         "hook done",
	"vote":         "vote in etcd",
	"votes":        "three votes in etcd",
	"last-power":   "last power-on",
	"formed-ready": "all four Ready, before",
	"formed-done":  "all four hooks done, before",
}

// at returns the seconds of a name, or nothing if it was not reached.
func (r repetition) at(name string) string { return cell(r.seconds, name) }

func (r repetition) counted(name string) string { return cell(r.client, name) }

// cell is empty if nothing was measured: 0 would be a figure.
func cell(figures map[string]float64, name string) string {
	if figure, ok := figures[name]; ok {
		return number(figure)
	}
	return ""
}

func (r repetition) result() string {
	switch {
	case r.passed:
		return "passed"
	case r.ended:
		return "**failed**"
	}
	return "not run"
}

// fault returns the codes of the hook's faults, with the beginning of the last one's evidence.
func (r repetition) fault() string {
	if r.found["fault"] == "" {
		return ""
	}
	evidence := r.found["evidence"]
	if len(evidence) > 90 {
		evidence = evidence[:90] + "…"
	}
	return fmt.Sprintf("`%s`: %s", r.found["fault"], evidence)
}

// number writes a figure with one digit behind the point, and none if it is 0.
func number(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// table begins a table. row adds a row to it; a bar in a value would end its cell.
func table(b *strings.Builder, columns ...string) {
	row(b, columns...)
	b.WriteString(strings.Repeat("| --- ", len(columns)) + "|\n")
}

func row(b *strings.Builder, values ...string) {
	for _, v := range values {
		b.WriteString("| " + strings.ReplaceAll(strings.TrimSpace(v), "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}
