package vault

import (
	"strings"

	"filippo.io/age"
	"filippo.io/age/plugin"
	"filippo.io/age/tag"
)

// parseRecipient reads a recipient that config.Parse has accepted.
func parseRecipient(text string) (age.Recipient, error) {
	switch {
	case strings.HasPrefix(text, "age1pq1"):
		return age.ParseHybridRecipient(text)
	case strings.HasPrefix(text, "age1tag1"), strings.HasPrefix(text, "age1tagpq1"):
		return tag.ParseRecipient(text)
	case strings.Count(text, "1") > 1: // the letters after the last 1 have none
		r, err := plugin.NewRecipient(text, ui)
		return pluginRecipient{r}, err
	}
	return age.ParseX25519Recipient(text)
}
