package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/text/wording"
)

// Problem is one mistake in cluster.yaml: where, what was found and expected, and what to do.
type Problem struct {
	ID      string `json:"id,omitempty"` // of a warning, or Placeholder; "" of other mistakes
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // 1-based; 0 for a problem of the whole file
	Column  int    `json:"column,omitempty"` // 1-based, in characters; 0 if only the line is known
	Path    string `json:"path,omitempty"`   // the field, without the leading "spec.", if it is one
	Message string `json:"message"`

	more int // the number of problems that this one stands for, at the end of a list that was cut
}

// Error returns the problem as one line: file:line:column: path: message.
func (p Problem) Error() string {
	var b strings.Builder
	if p.File == "" && p.Path == "" {
		return p.Message // of the configuration as a whole
	}
	b.WriteString(p.File)
	if p.Line > 0 {
		b.WriteString(":" + strconv.Itoa(p.Line))
		if p.Column > 0 {
			b.WriteString(":" + strconv.Itoa(p.Column))
		}
	}
	if p.Path != "" {
		b.WriteString(": " + pathText(p.Path))
	}
	// A message may quote another program, which may write many lines. None of them may look like a
	// line of kiln.
	b.WriteString(": " + strings.ReplaceAll(p.Message, "\n", "\n  "))
	return b.String()
}

// pathText returns a path as a message can show it, escaped if a character in it cannot be seen.
func pathText(path string) string {
	if !hasControl(path) {
		return path
	}
	quoted := strconv.Quote(path)
	return quoted[1 : len(quoted)-1]
}

// Problems is everything that is wrong with a file, in file order.
type Problems []Problem

// Error returns one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Shorten returns at most as many problems as a message shows, and one more that counts the others.
func (p Problems) Shorten() Problems {
	rest := len(p) - maxProblems
	if rest <= 0 {
		return p
	}
	more := Problem{File: p[0].File, Message: fmt.Sprintf("and %d more", rest), more: rest}
	return append(p[:maxProblems:maxProblems], more)
}

// Summary returns the line after the problems: their number, their files, nothing written.
func (p Problems) Summary() string {
	if len(p) == 0 {
		return "kiln: no problems"
	}
	return "kiln: " + p.Count() + "; nothing was written"
}

// Count returns the number of problems, one or more, and their files.
func (p Problems) Count() string {
	n := 0
	var files []string
	for i := range p {
		n += max(1, p[i].more)
		if !slices.Contains(files, p[i].File) {
			files = append(files, p[i].File)
		}
	}
	return fmt.Sprintf("%s in %s", wording.Count(n, "problem"), strings.Join(files, ", "))
}

// Ids of warnings: of what is valid and probably not meant.
const (
	WarnAcceptance   = "unused-acceptance"
	WarnCloud        = "cloud-controller"
	WarnDeprecated   = "deprecated"
	WarnDNSAddress   = "dns-address"
	WarnDomain       = "dns-domain"
	WarnFamily       = "endpoint-family"
	WarnEndpointName = "endpoint-name"
	WarnEtcd         = "external-etcd"
	WarnHardening    = "hardening"
	WarnHook         = "helm-hook"
	WarnImageTag     = "image-tag"
	WarnKMSPlugin    = "kms-plugin"
	WarnLifetime     = "lifetime"
	WarnMirror       = "mirror-through-proxy"
	WarnNodePorts    = "node-ports"
	WarnPodNetwork   = "pod-network"
	WarnPodRoutes    = "pod-routes"
	WarnPolicies     = "network-policies"
	WarnPublicSubnet = "public-subnet"
	WarnResolver     = "no-resolver"
	WarnCgroup       = "reserved-cgroup"
	WarnRuntimeClass = "runtime-class"
	WarnServices     = "services"
	WarnSystemFile   = "system-file"
	WarnUnreadFile   = "unread-file"
	WarnUnverified   = "unverified-registry"
	WarnVariable     = "variable"
)

// warnings are the ids that acceptWarnings may have, sorted.
var warnings = []string{
	WarnCloud, WarnDeprecated, WarnDNSAddress, WarnDomain, WarnFamily, WarnEndpointName, WarnEtcd,
	WarnHardening, WarnHook, WarnImageTag, WarnKMSPlugin, WarnLifetime, WarnMirror, WarnPolicies,
	WarnResolver, WarnNodePorts, WarnPodNetwork, WarnPodRoutes, WarnPublicSubnet, WarnCgroup,
	WarnRuntimeClass, WarnServices, WarnSystemFile, WarnUnreadFile, WarnUnverified, WarnVariable,
}

// Warning returns a warning about the configuration as a whole.
func Warning(id, format string, args ...any) Problem {
	return Problem{ID: id, Message: fmt.Sprintf(format, args...)}
}

// Warnings returns what this file warns of by itself.
func (c *Cluster) Warnings() Problems { return c.warned }

// Unaccepted returns the warnings that acceptWarnings does not name, and one for each name there
// that none of them has.
func (c *Cluster) Unaccepted(all Problems) (left Problems) {
	fired := map[string]bool{}
	for _, w := range all {
		fired[w.ID] = true
		if !slices.Contains(c.Spec.AcceptWarnings, w.ID) {
			left = append(left, w)
		}
	}
	for i, id := range c.Spec.AcceptWarnings {
		if !fired[id] {
			w := c.Problemf(fmt.Sprintf("acceptWarnings[%d]", i),
				"nothing warns of %s; remove it", id)
			w.ID = WarnAcceptance
			left = append(left, w)
		}
	}
	return left
}
