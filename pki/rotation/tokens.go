package rotation

import (
	"fmt"
	"slices"
	"time"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// How long a pod's token lives, unless the pod asks for another time: the API server extends it
// from 3607 seconds to a year. --service-account-max-token-expiration does not shorten that year
// (pkg/serviceaccount/claims.go and pkg/kubeapiserver/options of Kubernetes 1.36).
const (
	extended    = 365 * 24 * time.Hour
	notExtended = 3607 * time.Second
)

// TokenLife returns how long the tokens of pods live at most, if no pod asks for more, by the flags
// of the cluster's API servers.
func TokenLife(p *plan.Plan) time.Duration {
	for i := range p.Machines {
		m := &p.Machines[i]
		isSwitch := func(a config.Arg) bool {
			return a.Name == "service-account-extend-token-expiration"
		}
		if !m.ControlPlane() {
			continue
		}
		args := slices.DeleteFunc(p.APIServerFlags(m).Args(), func(a config.Arg) bool {
			return !isSwitch(a)
		})
		if len(args) == 0 || args[len(args)-1].Value != "false" {
			return extended
		}
	}
	return notExtended
}

// TokenWait returns how long tokens of the old key live, in words.
func TokenWait(p *plan.Plan) string {
	life := fmt.Sprintf("%s, as API servers do not extend tokens of pods", notExtended)
	if TokenLife(p) == extended {
		life = "365 days, as API servers extend tokens of pods " +
			"(--service-account-extend-token-expiration=false, which the profile cis sets, makes " +
			"it an hour)"
	}
	return untilTokensEnd(life)
}

// untilTokensEnd is the condition that no pod has a token of the old key, for tokens of this life.
func untilTokensEnd(life string) string {
	return "no pod has a token of the old key: the longest life of one has passed since the last " +
		"control plane came to the stage issue, which is " + life + "; or every pod was " +
		"restarted since then. A pod that asks for a longer life has it (expirationSeconds)"
}

// anyLife is that life where nobody knows the flags of the API servers.
var anyLife = fmt.Sprintf("%s if API servers do not extend tokens of pods "+
	"(--service-account-extend-token-expiration=false, which the profile cis sets), else 365 days",
	notExtended)
