// Command apk installs packages of Alpine into an empty directory, as apk(8) would in a container: it makes
// an index of them, finds what the named ones depend on, checks the hashes and unpacks. It is for
// scripts/package --check, because Debian has no apk(8). It removes nothing, and runs no scripts.
//
// usage: apk ROOT ARCH FILE.apk... -- NAME...
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"chainguard.dev/apko/pkg/apk/apk"
	"chainguard.dev/apko/pkg/apk/fs"
)

func main() {
	end := slices.Index(os.Args, "--")
	if end < 4 {
		fmt.Fprintln(os.Stderr, "usage: apk ROOT ARCH FILE.apk... -- NAME...")
		os.Exit(2)
	}
	if err := install(context.Background(), os.Args[1], os.Args[2], os.Args[3:end], os.Args[end+1:]); err != nil {
		fmt.Fprintln(os.Stderr, "apk:", err)
		os.Exit(1)
	}
}

// repository copies the files to where apk(8) looks for them, and makes the index.
func repository(ctx context.Context, dir, arch string, files []string) error {
	dir = filepath.Join(dir, arch)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	index := &apk.APKIndex{Description: "packages"}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		pkg, err := apk.ParsePackage(ctx, f, uint64(len(text)))
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		index.Packages = append(index.Packages, pkg)
		if err := os.WriteFile(filepath.Join(dir, pkg.Filename()), text, 0o644); err != nil {
			return err
		}
	}
	archive, err := apk.ArchiveFromIndex(index)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(archive)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "APKINDEX.tar.gz"), text, 0o644)
}

func install(ctx context.Context, root, arch string, files, names []string) error {
	repo, err := os.MkdirTemp("", "apk-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(repo)
	if err := repository(ctx, repo, arch, files); err != nil {
		return err
	}
	a, err := apk.New(ctx, apk.WithFS(fs.DirFS(ctx, root)), apk.WithArch(arch), apk.WithIgnoreMknodErrors(true), apk.WithIgnoreIndexSignatures(true))
	if err != nil {
		return err
	}
	if err := a.InitDB(ctx); err != nil {
		return err
	}
	if err := a.SetRepositories(ctx, []string{repo}); err != nil {
		return err
	}
	if err := a.SetWorld(ctx, names); err != nil {
		return err
	}
	if _, err := a.FixateWorld(ctx, nil); err != nil {
		return err
	}
	installed, err := a.GetInstalled()
	for _, p := range installed {
		fmt.Println(p.Name, p.Version)
	}
	return err
}
