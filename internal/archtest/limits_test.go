package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limits of size: what one reader can hold in mind. A number is a reason to
// look for the cut, not for a file called part2.
const (
	maxPackageLines = 4500 // product code of one package, tests and kits apart
	maxMethods      = 60   // of one type
	maxRootFiles    = 12
	maxRootLines    = 2500
)

// tooLong and tooMany hold the exceptions, with their size. An exception may only
// shrink, and goes once it is within the limit.
var (
	tooLong = map[string]int{}
	tooMany = map[string]int{}
)

// source is what is known of the product code of one package.
type source struct {
	files, lines int
	methods      map[string]int // by type
}

func TestPackagesAreOfReadableSize(t *testing.T) {
	all := sources(t)
	for name, src := range all {
		limit := maxPackageLines
		if most, exempt := tooLong[name]; exempt {
			if src.lines <= limit {
				t.Errorf("package %q has %d lines: take it out of tooLong", name, src.lines)
			}
			limit = most
		}
		if src.lines > limit && level[name] != kits {
			t.Errorf("package %q has %d lines, more than %d: find the noun that can live below it", name, src.lines, limit)
		}
	}
	for name := range tooLong {
		if _, there := all[name]; !there {
			t.Errorf("tooLong names %q, which is no package", name)
		}
	}
}

func TestTypesHaveFewMethods(t *testing.T) {
	seen := map[string]bool{}
	for name, src := range sources(t) {
		for typ, n := range src.methods {
			limit, id := maxMethods, name+"."+typ
			if most, exempt := tooMany[id]; exempt {
				seen[id] = true
				if n <= limit {
					t.Errorf("%s has %d methods: take it out of tooMany", id, n)
				}
				limit = most
			}
			if n > limit {
				t.Errorf("%s has %d methods, more than %d: a part of it is a type of its own", id, n, limit)
			}
		}
	}
	for id := range tooMany {
		if !seen[id] {
			t.Errorf("tooMany names %s, which is no type", id)
		}
	}
}

// TestTheRootIsThePublicAPI holds the root package to a few files.
func TestTheRootIsThePublicAPI(t *testing.T) {
	root := sources(t)[""]
	if root.files > maxRootFiles {
		t.Errorf("the root package has %d files, more than %d", root.files, maxRootFiles)
	}
	if root.lines > maxRootLines {
		t.Errorf("the root package has %d lines, more than %d", root.lines, maxRootLines)
	}
}

// sources counts the product code of every package of the module.
func sources(t *testing.T) map[string]*source {
	t.Helper()
	const top = "../.."
	all := map[string]*source{}
	err := filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != top && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		dir, err := filepath.Rel(top, filepath.Dir(path))
		if err != nil {
			return err
		}
		if dir == "." {
			dir = ""
		}
		if all[dir] == nil {
			all[dir] = &source{methods: map[string]int{}}
		}
		return all[dir].add(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *source) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.files++
	s.lines += bytes.Count(text, []byte("\n"))
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
			s.methods[receiver(fn.Recv.List[0].Type)]++
		}
	}
	return nil
}

// receiver returns the name of the type that a method belongs to.
func receiver(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return receiver(typ.X)
	case *ast.IndexExpr:
		return receiver(typ.X)
	case *ast.IndexListExpr:
		return receiver(typ.X)
	case *ast.Ident:
		return typ.Name
	}
	return ""
}
