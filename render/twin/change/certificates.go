package change

import (
	"slices"
	"strings"
)

// certificate holds the parts of a certificate's line in a twin.
type certificate struct {
	generation string
	parts      map[string]string
}

// certificateParts are the first words of the parts of a certificate's line. The part without such
// a word is the kind of key.
var certificateParts = []string{"subject", "issuer", "for", "from", "until", "fingerprint", "names"}

// certificates returns the certificates of a list of lines, and the other lines.
func certificates(list []string) (certs []certificate, rest []string) {
	for _, line := range list {
		text, ok := strings.CutPrefix(line, "certificate")
		name, parts, found := strings.Cut(text, ": ")
		if !ok || !found {
			rest = append(rest, line)
			continue
		}
		c := certificate{generation: generationOf(strings.TrimSpace(name)),
			parts: map[string]string{}}
		for part := range strings.SplitSeq(parts, "; ") {
			word, value, _ := strings.Cut(part, " ")
			if !slices.Contains(certificateParts, word) {
				word, value = "key", part
			}
			c.parts[word] = value
		}
		certs = append(certs, c)
	}
	return certs, rest
}

func addCertificate(f *List, old, new certificate) {
	if bothKnown(old.generation, new.generation) {
		f.Value("certificate", old.generation, new.generation)
	}
	for _, part := range append(certificateParts, "key") {
		a, b := old.parts[part], new.parts[part]
		switch {
		case a == b:
		case part == "names" || part == "for":
			f.Set("certificate "+part, commas(a), commas(b))
		default:
			f.Value("certificate "+part, a, b)
		}
	}
}

func commas(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// pairCertificates puts certificates of two lists together: CAs by their keys, whatever their
// order, and others by their places. A certificate that is in one list alone has an empty one
// beside it.
func pairCertificates(old, new []certificate) (pairs [][2]certificate) {
	if len(old) != 1 || len(new) != 1 {
		for i := range old {
			key := old[i].parts["fingerprint"]
			j := slices.IndexFunc(new, func(c certificate) bool {
				return c.parts["fingerprint"] == key // leaves have none
			})
			if j >= 0 {
				pairs = append(pairs, [2]certificate{old[i], new[j]})
				new = slices.Delete(slices.Clone(new), j, j+1)
			} else {
				pairs = append(pairs, [2]certificate{old[i], {}})
			}
		}
		for _, c := range new {
			pairs = append(pairs, [2]certificate{{}, c})
		}
		return pairs
	}
	var pair [2]certificate
	copy(pair[:1], old)
	copy(pair[1:], new)
	return [][2]certificate{pair}
}
