// The tools that scripts/check and the public workflow run, pinned. They are a module of
// their own, so that what is shipped depends on none of them.
module github.com/posixtrace/posixtrace/scripts/tools

go 1.26.0

tool honnef.co/go/tools/cmd/staticcheck

require (
	github.com/OpenPeeDeeP/depguard/v2 v2.3.0
	github.com/breml/bidichk v0.3.4
	github.com/charithe/durationcheck v0.0.11
	github.com/curioswitch/go-reassign v0.3.0
	github.com/gordonklaus/ineffassign v0.2.0
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/tools v0.52.0
)

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/gobwas/glob v1.0.0 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	honnef.co/go/tools v0.8.2 // indirect
)
