# make            builds bin/kiln
# make test       runs every test that needs no virtual machine
# make test-all   kills every verb that writes 200 times, and gives it full disks (root for those; about an hour)
# make golden     rewrites the goldens; read the diff before you commit it
# make bench      prints the times and memory that the design promises
# make fuzz       runs every fuzz target for FUZZTIME
# make judges     holds rendered machines against Kubernetes' own validators, kubeadm and the CIS benchmark
# make gitleaks   holds the review twins of all goldens against gitleaks
# make page       looks at the page of kiln report with headless Chromium and axe-core
# make etcd       holds control planes to what docs/etcd.md promises, with real etcd processes (root)
# make ignition   applies every golden Ignition document with the Ignition engine, to roots like those of its systems (root)
# make lint       format, width of lines, vet, staticcheck, gosec, shellcheck and shfmt
# make vuln       known vulnerabilities that the program reaches; VULNDB is a database, if not the public one
# make boot-test  boots real machines in QEMU from rendered documents (root, about two hours)

FUZZTIME ?= 60s
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOSEC := github.com/securego/gosec/v2/cmd/gosec@v2.22.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4
# Minors of Kubernetes, beside the one in its go.mod, from whose source the judges are built too.
JUDGES := v1.34 v1.35 v1.37
SHFMT := mvdan.cc/sh/v3/cmd/shfmt@v3.14.1
SCRIPTS := $(addprefix templates/boot/,backup boot checks etcd keep-routes pool report steps)

.PHONY: all build test test-all golden judges gitleaks page etcd ignition bench fuzz lint vuln boot-test clean

all: build

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/kiln ./cmd/kiln

test:
	go test -timeout 20m ./...

test-all:
	go test -timeout 3h ./cmd/kiln -run TestCutOff -kills 200

golden:
	go test ./render -run 'TestGolden|TestChanges|TestSecretsDoc|TestPlatforms|TestBudget|TestDelivered' -update
	go test ./render/preflight -run TestDoc -update
	go test ./cmd/kiln -run 'TestPlatformsDoc|TestSizesDoc|TestCLIDoc' -update
	go test ./render/media -run TestGolden -update
	go test ./render/config -run TestInvalid -update

judges:
	test/judges/run.sh $(JUDGES)

gitleaks:
	@# Go does not know that the twins are read, so it would repeat its last verdict.
	cd test/gitleaks && go test -count=1 ./...

page:
	cd test/page && go test -count=1 ./...

etcd:
	@# They wait more than they work.
	cd test/etcd && go test -count=1 -timeout 20m -parallel 8 .

ignition:
	@# Go does not know that kiln and the goldens are read.
	cd test/ignition && go test -count=1 .

bench:
	go test ./cmd/kiln -run '^$$' -bench 'ColdProcess|Twin|Diff' -benchtime 3x -timeout 30m

fuzz:
	test/fuzz.sh $(FUZZTIME)

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt -w these files"; exit 1; }
	go test ./test/architecture
	go vet ./...
	cd test/boot && go vet ./...
	cd test/judges && go vet ./...
	cd test/etcd && go vet ./...
	cd test/ignition && go vet ./...
	cd test/gitleaks && go vet ./...
	cd test/page && go vet ./...
	go run $(STATICCHECK) ./...
	cd test/judges && go run $(STATICCHECK) ./...
	cd test/etcd && go run $(STATICCHECK) ./...
	cd test/ignition && go run $(STATICCHECK) ./...
	@# G304, files named by a variable: reading the files that people name is what a command line does.
	@# G115, integers that may overflow: it cannot see the bounds that are checked before a conversion,
	@# and all 30 that it ever found here were bounded.
	go run $(GOSEC) -quiet -exclude=G304,G115 -exclude-dir=test ./...
	shellcheck -o all -s sh $(SCRIPTS)
	shellcheck -x -P SCRIPTDIR .ci/run test/*.sh test/boot/*.sh test/judges/*.sh
	go run $(SHFMT) -d $(SCRIPTS)
	go run $(SHFMT) -d -i 2 .ci/run test/*.sh test/boot/*.sh test/judges/*.sh

vuln:
	test/vuln.sh $(GOVULNCHECK) $(VULNDB)

boot-test:
	test/boot/run.sh
	test/boot/faults.sh

clean:
	rm -rf bin
