package cloudinit

import (
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/node"
)

// A machine with a body fetches it in bootcmd. cloud-init's own ways are not enough: #include has
// no hash and gives up, and a download by a boothook or a part-handler comes too late for the
// cloud-config of the same boot, or depends on the internals of one release. In every release
// bootcmd runs in the network stage, before write_files, so that a machine with a body is set up in
// the same order as one without. It runs at every boot, so that an interruption does no harm. The
// body is a script (body.go), which needs nothing of cloud-init.
const (
	// bodyDir is the folder in which the machine keeps its body until the first boot has verified
	// all files. The hook makes the same folder.
	bodyDir = "/var/lib/kiln"

	// fetchBody fetches the body with SHA-512 $2 and $3 bytes from $1, trusting the CA $4 if there
	// is one, and runs it. A download is in a file of its own until it is whole and its hash is
	// right. After that no later boot asks for it again: a server may give it only once. It keeps
	// at most $3 bytes, however much a server sends: up to curl 8.4.0, --max-filesize has no effect
	// on an answer without a length. It follows no redirects.
	fetchBody = `[ ! -e ` + node.Verified + ` ] || ` +
		`exec rm -f ` + bodyDir + `/body ` + bodyDir + `/ca
umask 077; mkdir -p ` + bodyDir + `; cd ` + bodyDir + `
ok() { echo "$2  $1" | sha512sum -c --status 2>/dev/null; }
[ -z "$4" ] || printf %s "$4" >ca
t=1
until ok body "$2"; do
 curl -gfsS ${4:+--cacert ca} --connect-timeout 20 -m 900 -- "$1" | head -c $3 >new
 ok new "$2" && sync new && mv new body && continue
 e='is not what was rendered'; [ $(wc -c <new) = $3 ] || e='cannot be fetched'
 echo "kiln: $1 $e; again in $t s"; sleep $t; t=$((t<60?t*2:t))
done
sh body files`
)

func fetchCommand(r *node.Remote) argv {
	return argv{"sh", "-c", fetchBody, "--", r.URL, r.SHA512, strconv.Itoa(r.Bytes), string(r.CA)}
}

// readFetchCommand is the inverse of fetchCommand; it returns nil for another command.
func readFetchCommand(command argv) *node.Remote {
	if len(command) != 8 || command[2] != fetchBody {
		return nil
	}
	r := &node.Remote{URL: command[4], SHA512: command[5]}
	r.Bytes, _ = strconv.Atoi(command[6]) // a wrong number differs below
	if command[7] != "" {
		r.CA = []byte(command[7])
	}
	if !slices.Equal(command, fetchCommand(r)) {
		return nil
	}
	return r
}

// IsBody reports whether a document is a body, as Body returns it.
func IsBody(doc []byte) bool {
	return strings.HasPrefix(string(doc[:min(len(doc), len(bodyHead))]), bodyHead)
}
