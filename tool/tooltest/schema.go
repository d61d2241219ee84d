package tooltest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Decodes fails the test unless T is what a schema describes: each property of the
// schema is a field of T with the same type, in nested objects too, and each field
// is a property, but for those in hidden, which are read and not offered.
//
// Schemas are written as text, since their bytes are the beginning of every
// request; this holds the text to the type that the input is decoded into.
func Decodes[T any](t testing.TB, schema json.RawMessage, hidden ...string) {
	t.Helper()
	var offered jsonschema.Schema
	if err := json.Unmarshal(schema, &offered); err != nil {
		t.Fatalf("the schema is not valid: %v", err)
	}
	if _, err := offered.Resolve(nil); err != nil {
		t.Fatalf("the schema is not valid: %v", err)
	}
	read, err := jsonschema.For[T](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hidden {
		if offered.Properties[name] != nil || read.Properties[name] == nil {
			t.Errorf("%s is not a field that the schema hides", name)
		}
		delete(read.Properties, name)
	}
	compare(t, "input", &offered, read)
}

// compare reports where a schema and that of a type differ.
func compare(t testing.TB, at string, offered, read *jsonschema.Schema) {
	t.Helper()
	if want, got := kind(read), kind(offered); want != "" && got != want {
		t.Errorf("%s: the schema says %s, the type %s", at, got, want)
	}
	for _, name := range offered.Required {
		if offered.Properties[name] == nil {
			t.Errorf("%s: %s is required and no property", at, name)
		}
	}
	if read.Properties == nil { // a map: whatever is in it
		return
	}
	for name, property := range offered.Properties {
		if field := read.Properties[name]; field != nil {
			compare(t, at+"."+name, property, field)
		} else {
			t.Errorf("%s: the type has no field for %s", at, name)
		}
	}
	for name := range read.Properties {
		if offered.Properties[name] == nil {
			t.Errorf("%s: the schema has no property for the field %s", at, name)
		}
	}
	if read.Items != nil && offered.Items != nil {
		compare(t, at+"[]", offered.Items, read.Items)
	}
}

// kind is the type of a schema, without the null that a pointer or a slice allows;
// the empty text if any will do.
func kind(s *jsonschema.Schema) string {
	types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	return s.Type + strings.Join(types, "|")
}
