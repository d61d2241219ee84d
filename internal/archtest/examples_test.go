package archtest

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachPackageShowsHowItIsUsed asks each package that can be imported for an
// indented block in its comment, before its laws, or for a function Example.
func TestEachPackageShowsHowItIsUsed(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		name := local(p.ImportPath)
		doc, importable, example := documentation(t, filepath.Join("../..", name))
		if !importable {
			continue
		}
		seen++
		if !example && !showsUse(doc) {
			t.Errorf("package %q does not show how it is used: put an indented block into its comment, before its laws", name)
		}
	}
	if seen < 60 {
		t.Errorf("%d packages were found only", seen)
	}
}

// documentation returns the comment of the package in a directory, whether others can
// import it, and whether it has a function Example.
func documentation(t *testing.T, dir string) (doc string, importable, example bool) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			example = example || strings.Contains(string(src), "\nfunc Example")
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		importable = importable || f.Name.Name != "main"
		doc += f.Doc.Text()
	}
	return doc, importable, example
}

// showsUse reports whether a comment has an indented block before its laws.
func showsUse(doc string) bool {
	for _, b := range new(comment.Parser).Parse(doc).Content {
		switch b := b.(type) {
		case *comment.Code:
			return true
		case *comment.Paragraph:
			if heading := words([]comment.Block{b}); strings.HasPrefix(heading, "Law") {
				return false
			}
		case *comment.Heading:
			return false
		}
	}
	return false
}
