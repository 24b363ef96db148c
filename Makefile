# make            builds bin/kiln
# make example    builds it, and renders docs/examples/first into nodes and review
# make man        writes the man pages into bin/man
# make test       runs every test that needs no virtual machine (docs/testing.md says how long)
# make roots      runs make test in bare roots of Debian and Ubuntu, as root and not, and tests
#                 without each program that they ask for (root, an hour)
# make ci         runs what every change must pass: lint, test, vuln, judges, etcd, ignition, page,
#                 gitleaks and boot-fast (root)
# make test-all   runs what make test leaves out of tables and kills (some hours; as root also full
#                 disks): see docs/testing.md
# make golden     rewrites the goldens; read the diff before you commit it
# make bench      prints the times and memory that the design promises, and how kiln compares with
#                 kubeadm, Butane and the least that any program has to do
# make fuzz       runs every fuzz target for FUZZTIME
# make judges     holds rendered machines against Kubernetes' own validators, kubeadm and the CIS
#                 benchmark
# make etcd       holds control planes to what docs/etcd.md promises, with real etcd processes
#                 (root)
# make ignition   applies every golden Ignition document with the Ignition engine, to roots like
#                 those of its systems (root)
# make containerd  starts five minors of containerd, from 1.7 on, on the configurations of golden
#                 machines (root; the first time eight minutes of processor time)
# make registry   holds kiln's archives against OCI's conformance suite and the registry of the
#                 distribution project; SIZE=10 also makes, pushes and serves one of 10 GiB
# make page       looks at the page of kiln report with headless Chromium and axe-core
# make pictures   makes the pictures of that page in docs/report (Chromium)
# make gitleaks   holds the review twins of all goldens against gitleaks
# make lint       format, width of lines, vet, staticcheck, gosec, shellcheck, shfmt and actionlint
# make module     gives the module another import path: TO=forge.example/team/kiln
# make release    makes the files of a release, in the new folder OUT; KEY is a private key of SSH
#                 that signs them, ONLY is some of the platforms
# make release-test  makes a release of one platform twice, compares the bytes, and uses the files
# make vuln       known vulnerabilities that the program reaches; VULNDB is a database, if not the
#                 public one
# make stale      lists modules that have a newer version, or that their authors have deprecated or
#                 retracted
# make boot-fast  boots machines that are containers of this computer, with real systemd,
#                 cloud-init, Ignition and Kubernetes (root, four minutes; the first time fifteen
#                 more)
# make proof      repeats first boots, heals and harm on such machines, and writes docs/proof.md;
#                 PROOF=short is a try of a few minutes, without the page (root, 2.5 hours)
# make conformance  runs the conformance specs of Kubernetes on five such machines, and writes
#                 docs/conformance.md; KILN_BOOT_MINOR is the minor (root, an hour; the first time
#                 twenty minutes more)
# make boot-test  boots, harms, heals and restores machines from rendered documents: containers, and
#                 in QEMU what containers cannot show (root, about three hours)

# Memory is there, and collecting garbage takes a sixth of the time of tests.
export GOGC ?= 400
FUZZTIME ?= 60s
# Only the command line sets these: what the environment calls so means something else.
OUT := release
SIZE :=
KEY :=
ONLY :=
TO :=
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOSEC := github.com/securego/gosec/v2/cmd/gosec@v2.30.0
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
DEADCODE := golang.org/x/tools/cmd/deadcode@v0.49.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4
# Minors of Kubernetes, beside the one in its go.mod, from whose source the judges are built too.
JUDGES := v1.34 v1.35 v1.37
# make ci builds the newest of them alone, and make test-all all of them.
NEWEST := $(lastword $(JUDGES))
SHFMT := mvdan.cc/sh/v3/cmd/shfmt@v3.14.1
SCRIPTS := $(addprefix templates/boot/,announce backup boot checks etcd fetch pool \
	report steps) cmd/kiln/boot/media/kiln-install \
	render/fleet/verify/apply.sh render/fleet/verify/change.sh \
	render/fleet/verify/login.sh render/fleet/verify/list.sh
MODULES := boot certificates judges etcd ignition gitleaks page registry

# What make ci runs as its test; .ci/run gives it the README's command.
TEST ?= $(MAKE) test

.PHONY: all build example man test ci ci-work test-all golden judges gitleaks page etcd ignition
.PHONY: release release-test module registry containerd pictures bench fuzz lint vuln stale roots
.PHONY: boot-fast boot-test proof conformance clean

all: build

build:
	go build -trimpath -ldflags '-s -w' -o bin/kiln ./cmd/kiln

# kiln is built without cgo, and so are its tests: gcc would need longer to link some than they run.
build example test golden bench lint containerd: export CGO_ENABLED := 0

example: build
	@bin/kiln render --config docs/examples/first/cluster.yaml --secrets first.secrets.yaml \
		--out nodes --review review
	@echo "Look at these next:"
	@echo "  review/INDEX                    the cluster; review/cp-1/INDEX has the files of cp-1"
	@echo "  bin/kiln unpack nodes/worker-1  what the document of one machine puts on it"
	@echo "  docs/first-cluster.md           the way to a cluster of your own"

man:
	go test ./cmd/kiln -run TestMan -man $(CURDIR)/bin/man

test:
	@# Go repeats the verdict of a package while the variables that its tests read are the same, so
	@# a variable stands for each program that is here. The last line is about all packages. All of
	@# vet is in make lint.
	@found=$$(go run ./test/missing -found) || exit; \
	echo "go test -vet=off -timeout 40m ./..."; \
	env $$found go test -vet=off -timeout 40m ./...; code=$$?; \
	go run ./test/missing; exit $$code

ci:
	@# etcd waits for elections and time-outs more than it works, so the others work beside it.
	$(MAKE) -j4 --output-sync=target etcd ci-work
	@# The machines want all processors. To build their image takes longer than all the rest.
	$(MAKE) boot-fast FAST=--cached

ci-work:
	$(MAKE) lint
	+$(TEST)
	$(MAKE) vuln
	$(MAKE) judges ignition page gitleaks release-test JUDGES=$(NEWEST)

test-all: judges
	go test -timeout 1h ./render -all -hostile
	go test -timeout 8h ./render -run TestRotations -rotations 10000
	go test -timeout 1h ./render/explain -all
	go test -timeout 2h ./render/fleet/verify -all
	go test -timeout 5h ./templates -all
	go test -timeout 5h ./cmd/kiln -run TestCutOff -kills 200

golden:
	go test ./render -update \
		-run 'TestGolden|TestChanges|TestSecretsDoc|TestPlatforms|TestBudget|TestDelivered'
	go test ./test/architecture -run TestDesign -update
	go test ./render -run TestAnnounced -update
	go test ./render -run TestRotationGoldens -update
	go test ./render -run TestExposureDoc -update
	go test ./render -run TestMistakes -update
	go test ./render/machine/preflight -run TestDoc -update
	go test ./cmd/kiln -run 'TestPlatformsDoc|TestSizesDoc|TestCLIDoc|TestLicenses' -update
	go test ./cmd/kiln -run 'TestReadme|TestWalk|TestExternalCA' -update
	go test ./cmd/kiln/boot/media -run TestGolden -update
	go test ./render/config -run TestInvalid -update

judges:
	test/judges/run.sh $(JUDGES)

gitleaks:
	@# Go does not know that the twins are read, so it would repeat its last verdict.
	cd test/gitleaks && go test -count=1 ./...

registry:
	@# Go does not know that kiln and the page are read.
	cd test/registry && go test -count=1 -timeout 60m . $(if $(SIZE),-gib $(SIZE))

page:
	cd test/page && go test -count=1 -timeout 30m ./...

pictures:
	cd test/page && go test -count=1 -run TestPictures . -update

etcd:
	@# They wait more than they work.
	cd test/etcd && go test -count=1 -timeout 20m -parallel 8 .

ignition:
	@# Go does not know that kiln and the goldens are read.
	cd test/ignition && go test -count=1 .

containerd:
	@# Go does not know that kiln and the goldens are read.
	cd test/containerd && go vet . && go test -count=1 -timeout 40m .

bench:
	go test ./cmd/kiln -run '^$$' -bench 'ColdProcess|Twin|Diff|Bombs' -benchtime 3x -timeout 30m
	go test ./test/bench -run '^$$' -bench . -benchtime 1x -timeout 30m

fuzz:
	test/fuzz.sh $(FUZZTIME)

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt -w these files"; exit 1; }
	go test ./test/architecture
	go vet ./...
	for m in $(MODULES); do (cd test/$$m && CGO_ENABLED=1 go vet ./...) || exit 1; done
	go run $(STATICCHECK) ./...
	for m in judges etcd ignition; do \
		(cd test/$$m && CGO_ENABLED=1 go run $(STATICCHECK) ./...) || exit 1; \
	done
	cd cmd/release && go vet . && go run $(STATICCHECK) .
	go run $(ACTIONLINT) .github/workflows/*.yml
	@# G304, files named by a variable: a command line reads the files that people name.
	@# G115, integers that may overflow: it cannot see the bounds that are checked before a
	@# conversion, and all 30 that it ever found here were bounded.
	@# Only methods that keep a secret from being printed may have no caller.
	@echo "go run $(DEADCODE) ./cmd/kiln"; \
	dead=$$(go run $(DEADCODE) ./cmd/kiln) || exit; \
	dead=$$(echo "$$dead" | sed -E '/: (Lock|Token)\.(Format|String|MarshalText)$$/d'); \
	test -z "$$dead" || { echo "only tests call these:"; echo "$$dead"; exit 1; }
	go run $(GOSEC) -quiet -exclude=G304,G115 -exclude-dir=test -exclude-dir=cmd/release ./...
	@# G301, G306: folders and files that others may read. A release is for all.
	cd cmd/release && go run $(GOSEC) -quiet -exclude=G304,G301,G306 .
	shellcheck -o all -s sh $(SCRIPTS)
	shellcheck -x -P SCRIPTDIR -e SC2317 .ci/run test/*.sh test/boot/*.sh test/judges/*.sh \
		docs/examples/*.sh docs/examples/laptop/*.sh
	go run $(SHFMT) -d $(SCRIPTS)
	go run $(SHFMT) -d -i 2 .ci/run test/*.sh test/boot/*.sh test/judges/*.sh \
		docs/examples/*.sh docs/examples/laptop/*.sh

roots:
	test/roots.sh

stale:
	test/stale.sh

release:
	@GOENV=off GOFLAGS= GOWORK=off CGO_ENABLED=0 go build -C cmd/release -o ../../bin/release .
	@bin/release $(if $(KEY),-key "$(KEY)") $(if $(ONLY),-only "$(ONLY)") "$(OUT)"

release-test:
	cd cmd/release && go test -count=1 -timeout 30m .

module:
	test/module.sh "$(TO)"

vuln:
	test/vuln.sh $(GOVULNCHECK) $(VULNDB)

boot-fast:
	cd test/boot && go test ./...
	@# 77: this computer cannot have such machines, as the script has said.
	test/boot/fast.sh $(FAST) || [ $$? = 77 ]

# PROOF is words for the script, each without its dashes: short, page, continue.
proof:
	test/boot/proof.sh $(addprefix --,$(PROOF))

conformance:
	cd test/boot && go test ./conformance
	test/boot/conformance.sh $(CONFORMANCE)

boot-test:
	cd test/boot && go test ./...
	test/boot/all.sh

clean:
	rm -rf bin
