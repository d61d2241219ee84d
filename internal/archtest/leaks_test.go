package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed lists what is still shown, a line each. A line that is true no longer
// has to go.
const allowed = "testdata/leaks.txt"

// TestNoExportedSignatureShowsAnInternalType holds that a program that embeds
// swarm can name, read about and make each type of the public API: no exported
// function, method, field, variable or alias of a public package has a type of a
// package below internal/.
func TestNoExportedSignatureShowsAnInternalType(t *testing.T) {
	text, err := os.ReadFile(allowed)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		known[strings.TrimSpace(line)] = true
	}
	found := leaks(t)
	for _, leak := range found {
		if !known[leak] {
			t.Errorf("%s: give callers a public type, or a small interface, or do not export it", leak)
		}
		delete(known, leak)
	}
	for _, line := range slices.Sorted(maps.Keys(known)) {
		t.Errorf("%s names %q, which is no leak any more: take it out", allowed, line)
	}
}

// leaks returns what public packages show of internal ones, sorted.
func leaks(t *testing.T) []string {
	t.Helper()
	load, ours := exports(t)
	found := map[string]bool{}
	for _, path := range ours {
		name := local(path)
		if height, there := level[name]; !there || height == kits || isInternal(path) || height >= level[""] && name != "" {
			continue
		}
		pkg, err := load.Import(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		x := exhibit{pkg: pkg, found: found}
		for _, id := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(id); obj.Exported() {
				x.object(obj)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// exports returns an importer of the compiled packages, and the paths of ours.
func exports(t *testing.T) (types.Importer, []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Standard", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files, ours := map[string]string{}, []string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
		if p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/") {
			ours = append(ours, p.ImportPath)
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	}), ours
}

func isInternal(path string) bool {
	return strings.HasPrefix(path, module) && slices.Contains(strings.Split(path, "/"), "internal")
}

// exhibit is what one package shows.
type exhibit struct {
	pkg   *types.Package
	found map[string]bool
}

// object goes through what a name of the package shows.
func (x exhibit) object(obj types.Object) {
	typ, ok := obj.(*types.TypeName)
	if !ok {
		x.typ(obj.Name(), obj.Type())
		return
	}
	if typ.IsAlias() {
		x.typ(obj.Name(), types.Unalias(typ.Type()))
		return
	}
	x.typ(obj.Name(), typ.Type().Underlying())
	if types.IsInterface(typ.Type()) {
		return
	}
	methods := types.NewMethodSet(types.NewPointer(typ.Type()))
	for m := range methods.Methods() {
		if m.Obj().Exported() {
			x.typ(obj.Name()+"."+m.Obj().Name(), m.Type())
		}
	}
}

// typ notes each internal type that a type is written with.
func (x exhibit) typ(where string, t types.Type) {
	switch t := t.(type) {
	case *types.Named:
		if pkg := t.Obj().Pkg(); pkg != nil && isInternal(pkg.Path()) {
			x.found[fmt.Sprintf("%s.%s shows %s.%s", local(x.pkg.Path()), where, local(pkg.Path()), t.Obj().Name())] = true
		}
		for arg := range t.TypeArgs().Types() {
			x.typ(where, arg)
		}
	case *types.Alias:
		x.typ(where, types.Unalias(t))
	case *types.Pointer:
		x.typ(where, t.Elem())
	case *types.Slice:
		x.typ(where, t.Elem())
	case *types.Array:
		x.typ(where, t.Elem())
	case *types.Chan:
		x.typ(where, t.Elem())
	case *types.Map:
		x.typ(where, t.Key())
		x.typ(where, t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			x.typ(where, v.Type())
		}
		for v := range t.Results().Variables() {
			x.typ(where, v.Type())
		}
	case *types.Struct:
		x.fields(where, t)
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				x.typ(where+"."+m.Name(), m.Type())
			}
		}
	}
}

// fields goes through the fields that callers see, those of embedded structs of
// the package too.
func (x exhibit) fields(where string, s *types.Struct) {
	for f := range s.Fields() {
		switch inner, ok := f.Type().Underlying().(*types.Struct); {
		case f.Exported():
			x.typ(where+"."+f.Name(), f.Type())
		case f.Embedded() && ok:
			x.fields(where, inner)
		}
	}
}
