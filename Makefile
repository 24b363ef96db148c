# make            builds bin/kiln
# make test       runs every test that needs no virtual machine
# make golden     rewrites the goldens; read the diff before you commit it
# make bench      prints the times and memory that the design promises
# make fuzz       runs every fuzz target for FUZZTIME
# make lint       format, vet, staticcheck, shellcheck and shfmt
# make boot-test  boots real machines in QEMU from rendered documents (root, about half an hour)

FUZZTIME ?= 60s
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
SHFMT := mvdan.cc/sh/v3/cmd/shfmt@v3.14.1
SCRIPTS := templates/boot/boot templates/boot/keep-routes

.PHONY: all build test golden bench fuzz lint boot-test clean

all: build

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/kiln ./cmd/kiln

test:
	go test ./...

golden:
	go test ./render -run TestGolden -update
	go test ./render/config -run TestInvalid -update

bench:
	go test ./cmd/kiln -run '^$$' -bench ColdProcess -benchtime 3x -timeout 30m

fuzz:
	test/fuzz.sh $(FUZZTIME)

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt -w these files"; exit 1; }
	go vet ./...
	cd test/boot && go vet ./...
	go run $(STATICCHECK) ./...
	shellcheck -o all -s sh $(SCRIPTS)
	shellcheck -x -P SCRIPTDIR .ci/run test/*.sh test/boot/*.sh
	go run $(SHFMT) -d $(SCRIPTS)
	go run $(SHFMT) -d -i 2 .ci/run test/*.sh test/boot/*.sh

boot-test:
	test/boot/run.sh

clean:
	rm -rf bin
