package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestArchitectureNamesWhatExists holds ARCHITECTURE.md to the code: a function or type
// that it names as pkg.Name, Type.Name or pkg.Type.Name is declared somewhere.
func TestArchitectureNamesWhatExists(t *testing.T) {
	known := identifiers(t)
	quoted := regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Za-z]+)+)`")
	named := 0
	for _, m := range quoted.FindAllStringSubmatch(architecture(t), -1) {
		if path.Ext(m[1]) == ".json" || path.Ext(m[1]) == ".jsonl" || path.Ext(m[1]) == ".log" {
			continue
		}
		named++
		if !known[m[1]] {
			t.Errorf("ARCHITECTURE.md names %s, which is not declared: give it today's name", m[1])
		}
	}
	if named < 20 {
		t.Errorf("ARCHITECTURE.md names %d functions and types: the pattern misses them", named)
	}
}

// TestArchitectureHasEachPackageAtItsLevel compares the table with the levels that
// imports are held to.
func TestArchitectureHasEachPackageAtItsLevel(t *testing.T) {
	shown := map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| (-?\d+) \| ([^|]+) \|`).FindAllStringSubmatch(architecture(t), -1) {
		height, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			for _, name := range expand(m[1]) {
				shown[name] = height
			}
		}
	}
	for name, height := range shown {
		if name == "swarm" {
			name = ""
		}
		if l, known := level[name]; !known || l != height {
			t.Errorf("ARCHITECTURE.md has %q at level %d; internal/archtest has %d (known: %t)", name, height, l, known)
		}
	}
	for name, height := range level {
		program := height > level[""]
		part := strings.HasPrefix(name, "internal/coordinator/") || strings.HasPrefix(name, "model/internal/")
		if _, there := shown[name]; !there && name != "" && !program && !part {
			t.Errorf("ARCHITECTURE.md does not show %q (level %d)", name, height)
		}
	}
}

// TestEachStepNamesOneFunctionOfAPackage holds the walks of a message and of a turn to the
// way from package to package: a reader needs to know one function of each.
func TestEachStepNamesOneFunctionOfAPackage(t *testing.T) {
	owners := functions(t)
	steps := regexp.MustCompile(`(?m)^\d+\. \*\*(.+?)\.\*\*((?:.|\n   )*)`).FindAllStringSubmatch(architecture(t), -1)
	if len(steps) < 10 {
		t.Fatalf("%d steps were found only", len(steps))
	}
	for _, step := range steps {
		named := map[string][]string{}
		for _, m := range regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Za-z]+)+)`").FindAllStringSubmatch(step[2], -1) {
			if owner := owners[m[1]]; owner != "" {
				named[owner] = append(named[owner], m[1])
			}
		}
		for owner, all := range named {
			if len(all) > 1 {
				t.Errorf("the step %s names %v, all of package %s: one of them is enough", step[1], all, owner)
			}
		}
	}
}

// functions returns the package of each function and method, by the names that identifiers
// gives them.
func functions(t *testing.T) map[string]string {
	all := map[string]string{}
	eachDeclaration(t, func(pkg string, d ast.Decl) {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			return
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = receiver(f.Recv.List[0].Type) + "." + name
			all[name] = pkg
		}
		all[pkg+"."+name] = pkg
	})
	return all
}

func architecture(t *testing.T) string {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expand returns the packages that a/{b,c} means.
func expand(pattern string) []string {
	before, rest, found := strings.Cut(pattern, "{")
	if !found {
		return []string{pattern}
	}
	list, after, _ := strings.Cut(rest, "}")
	var all []string
	for part := range strings.SplitSeq(list, ",") {
		all = append(all, before+part+after)
	}
	return all
}

// identifiers returns the functions, methods, fields and types of the product code, as
// pkg.Name, Type.Name and pkg.Type.Name.
func identifiers(t *testing.T) map[string]bool {
	all := map[string]bool{}
	eachDeclaration(t, func(pkg string, d ast.Decl) { declare(all, pkg, d) })
	return all
}

// eachDeclaration calls f with each declaration at the top of a file of the product code.
func eachDeclaration(t *testing.T, f func(pkg string, d ast.Decl)) {
	for _, p := range packages(t) {
		files, err := filepath.Glob(filepath.Join("../..", local(p.ImportPath), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				f(parsed.Name.Name, d)
			}
		}
	}
}

func declare(all map[string]bool, pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			all[pkg+"."+d.Name.Name] = true
			return
		}
		method := receiver(d.Recv.List[0].Type) + "." + d.Name.Name
		all[method], all[pkg+"."+method] = true, true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				all[pkg+"."+s.Name.Name] = true
				declareMembers(all, pkg, s)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					all[pkg+"."+name.Name] = true
				}
			}
		}
	}
}

// declareMembers adds the fields of a struct and the methods of an interface.
func declareMembers(all map[string]bool, pkg string, s *ast.TypeSpec) {
	var fields *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		return
	}
	for _, f := range fields.List {
		for _, name := range f.Names {
			member := s.Name.Name + "." + name.Name
			all[member], all[pkg+"."+member] = true, true
		}
	}
}
