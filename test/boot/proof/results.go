package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// proof is what one run of proof.sh has measured.
type proof struct {
	folder string
	about  map[string]string // commit, begun, processor, cores, memory, kernel and lengths
	plan   []repetition      // all repetitions, in the order of the plan; some may not have ended
}

// repetition is what one repetition of a scenario has written.
type repetition struct {
	scenario string
	seed     int
	ended    bool
	passed   bool
	why      string // why it failed
	run      map[string]string
	facts    map[string]string
	versions map[string]string
	found    map[string]string  // what showed a bad document, by the place where it showed
	client   map[string]float64 // what the client of the soak counted
	seconds  map[string]float64
	order    []string // the names in seconds, as they were noted
	machines []machine
}

// machine is a machine with the seconds that the steps of its hook took.
type machine struct {
	role, name string
	steps      []step
}

type step struct {
	name    string
	seconds float64
}

// read reads the folder of a run. It fails if results of different commits lie in it.
func read(folder string) (proof, error) {
	p := proof{folder: folder}
	text, err := os.ReadFile(filepath.Join(folder, "about"))
	if err != nil {
		return p, err
	}
	p.about = map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		p.about[name] = value
	}
	text, err = os.ReadFile(filepath.Join(folder, "plan"))
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(string(text)) {
		var r repetition
		if _, err := fmt.Sscan(line, &r.scenario, &r.seed); err != nil {
			return p, fmt.Errorf("plan: %q is no repetition: %w", line, err)
		}
		path := filepath.Join(folder, fmt.Sprintf("%s-%d", r.scenario, r.seed), "result")
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return p, err
		default:
			if err := r.parse(string(text)); err != nil {
				return p, fmt.Errorf("%s: %w", path, err)
			}
			if got, want := r.run["commit"], p.about["commit"]; got != want {
				return p, fmt.Errorf("%s is of commit %s, and the run of %s: remove it", path, got,
					want)
			}
		}
		p.plan = append(p.plan, r)
	}
	return p, nil
}

// parse reads the lines of a result. Each has three fields with tabs between them: kind, name and
// value. It fails if a line cannot be read, or if the last one is not the end.
func (r *repetition) parse(text string) (err error) {
	r.run, r.facts, r.found = map[string]string{}, map[string]string{}, map[string]string{}
	r.versions = map[string]string{}
	r.seconds, r.client = map[string]float64{}, map[string]float64{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) != 3 || r.ended {
			return fmt.Errorf("%q is no line of a result", line)
		}
		name, value := fields[1], fields[2]
		switch fields[0] {
		case "run":
			r.run[name] = value
		case "fact":
			r.facts[name] = value
		case "version":
			r.versions[name] = value
		case "found":
			r.found[name] = value
		case "client":
			r.client[name], err = strconv.ParseFloat(value, 64)
		case "seconds":
			r.order = append(r.order, name)
			r.seconds[name], err = strconv.ParseFloat(value, 64)
		case "steps":
			var m machine
			m, err = parseSteps(name, value)
			r.machines = append(r.machines, m)
		case "end":
			r.ended, r.passed, r.why = true, name == "passed", value
		default:
			err = errors.New("its kind is not known")
		}
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	if !r.ended {
		return errors.New("it has no end")
	}
	return nil
}

// parseSteps reads the steps of status.json, "NAME":SECONDS with commas between them.
func parseSteps(who, text string) (m machine, err error) {
	m.role, m.name, _ = strings.Cut(who, " ")
	for _, pair := range strings.Split(text, ",") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, ":")
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return m, err
		}
		m.steps = append(m.steps, step{strings.Trim(name, `"`), seconds})
	}
	return m, nil
}

// of returns the repetitions of a scenario.
func (p proof) of(scenario string) (rs []repetition) {
	for _, r := range p.plan {
		if r.scenario == scenario {
			rs = append(rs, r)
		}
	}
	return rs
}

// spread is the least, the middle and the most of some figures.
type spread struct {
	count               int
	least, middle, most float64
}

// spreadOf returns the spread of figures. The middle of an even number of them is the mean of the
// two in the middle.
func spreadOf(figures []float64) (s spread) {
	s.count = len(figures)
	if s.count == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(figures))
	half := s.count / 2
	s.least, s.middle, s.most = sorted[0], sorted[half], sorted[s.count-1]
	if s.count%2 == 0 {
		s.middle = (sorted[half-1] + sorted[half]) / 2
	}
	return s
}

// figures returns the seconds of one name in all repetitions that have it.
func figures(rs []repetition, name string) (all []float64) {
	for _, r := range rs {
		if seconds, ok := r.seconds[name]; ok {
			all = append(all, seconds)
		}
	}
	return all
}
