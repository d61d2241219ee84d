// Command sizes prints what each module that go.mod requires directly weighs in
// the program. It is for the table of docs/decisions/0002-dependencies.md:
//
//	make sizes
//
// The size of a module is that of its symbols, code and read-only data, as go tool
// nm reports them. The second column adds the modules that only it brings along.
// The tables that the runtime keeps about functions are not part of it; they are
// nearly as large as the code.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const program = "github.com/actorswarm/swarm/cmd/swarm"

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// pkg is what go list knows of a package of the program.
type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Module     *struct {
		Path     string
		Main     bool
		Indirect bool
	}
}

func run(out io.Writer) error {
	packages, err := list()
	if err != nil {
		return err
	}
	sizes, err := measure(packages)
	if err != nil {
		return err
	}
	type row struct {
		module      string
		own, brings int
	}
	var rows []row
	for _, m := range direct(packages) {
		r := row{module: m}
		without := reach(packages, m)
		for path, p := range packages {
			switch {
			case p.Module != nil && p.Module.Path == m:
				r.own += sizes[path]
			case !without[path]:
				r.brings += sizes[path]
			}
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.own+b.brings, a.own+a.brings) })
	fmt.Fprintf(out, "%8s %8s\n", "own", "with all")
	for _, r := range rows {
		fmt.Fprintf(out, "%5d KB %5d KB  %s\n", r.own/1000, (r.own+r.brings)/1000, r.module)
	}
	return nil
}

// list returns the packages of the program by path.
func list() (map[string]pkg, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Standard,Module", program)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	packages := map[string]pkg{}
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var p pkg
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages[p.ImportPath] = p
	}
}

// direct returns the modules that our packages import.
func direct(packages map[string]pkg) []string {
	found := map[string]bool{}
	for _, p := range packages {
		if m := p.Module; m != nil && !m.Main && !m.Indirect {
			found[m.Path] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// reach returns the packages that the program would hold if our packages imported
// nothing of a module.
func reach(packages map[string]pkg, without string) map[string]bool {
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		ours := packages[path].Module != nil && packages[path].Module.Main
		for _, i := range packages[path].Imports {
			if m := packages[i].Module; !ours || m == nil || m.Path != without {
				visit(i)
			}
		}
	}
	visit(program)
	return seen
}

// prefixes matches what stands before the package in the name of a symbol.
var prefixes = regexp.MustCompile(`^(type:\.(eq|hash)\.|type:|go:itab\.)?[*\[\]]*`)

// measure builds the program and returns the bytes of each package.
func measure(packages map[string]pkg) (map[string]int, error) {
	dir, err := os.MkdirTemp("", "sizes")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "swarm")
	if text, err := exec.Command("go", "build", "-trimpath", "-o", binary, program).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	text, err := exec.Command("go", "tool", "nm", "-size", binary).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool nm: %w", err)
	}
	sizes := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || strings.EqualFold(f[2], "b") { // the last kind is zeroed memory
			continue
		}
		size, err := strconv.Atoi(f[1])
		if err != nil {
			continue
		}
		name := prefixes.ReplaceAllString(f[3], "")
		sizes[packageOf(name, packages)] += size
	}
	return sizes, nil
}

// packageOf returns the package of a symbol, the empty text if it has none.
func packageOf(symbol string, packages map[string]pkg) string {
	slash := strings.LastIndexByte(strings.SplitN(symbol, "[", 2)[0], '/') + 1
	name, _, _ := strings.Cut(symbol[slash:], ".")
	path := symbol[:slash] + strings.NewReplacer("%2e", ".", "%2E", ".").Replace(name)
	if _, known := packages[path]; known {
		return path
	}
	return ""
}
