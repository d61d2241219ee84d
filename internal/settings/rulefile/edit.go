package rulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// byteOrderMark may begin a file.
var byteOrderMark = []byte("\xEF\xBB\xBF")

// key is the member of a settings file that holds the lists of rules.
const key = "permissions"

// add adds a rule to a list. at is where the rule begins.
func add(src []byte, list, rule string) (out []byte, at int, err error) {
	text, err := textOf(rule)
	if err != nil {
		return src, 0, err
	}
	if isBlank(src) {
		out = fmt.Appendf(src, "{\n  %q: {\n    %q: [\n      %s\n    ]\n  }\n}\n", key, list, text)
		return out, bytes.LastIndex(out, []byte(text)), nil
	}
	root, err := parse(src)
	if err != nil {
		return src, 0, err
	}
	permissions := root.member(key)
	if permissions == nil {
		return insert(src, root, fmt.Sprintf("%q: {%q: [%s]}", key, list, text), text)
	}
	if permissions.kind != '{' {
		return src, 0, errors.New("permissions must be an object")
	}
	rules := permissions.member(list)
	if rules == nil {
		return insert(src, permissions, fmt.Sprintf("%q: [%s]", list, text), text)
	}
	if rules.kind != '[' {
		return src, 0, fmt.Errorf("permissions.%s must be a list", list)
	}
	return insert(src, rules, text, text)
}

// textOf returns a rule as JSON.
func textOf(rule string) (string, error) {
	if !utf8.ValidString(rule) {
		return "", fmt.Errorf("the rule %q is not UTF-8", rule)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rule); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}

// insert inserts an element at the end of a list or an object, in a line of its own if
// the elements before have theirs. at is where the rule in it begins.
func insert(src []byte, in *node, element, rule string) (out []byte, at int, err error) {
	var begin int
	var before string
	if n := len(in.items); n > 0 {
		last := in.items[n-1]
		begin, before = last.end, ", "
		if indent, own := ownLine(src, last.from); own {
			before = "," + lineEnd(src) + indent
		}
		out = slices.Concat(src[:begin], []byte(before+element), src[begin:])
	} else {
		begin = in.start + 1
		out = slices.Concat(src[:begin], []byte(element), src[in.end-1:])
	}
	offset := bytes.LastIndex([]byte(element), []byte(rule))
	return out, begin + len(before) + offset, nil
}

// ownLine returns the blanks before an element that begins its line.
func ownLine(src []byte, at int) (indent string, own bool) {
	line := src[bytes.LastIndexByte(src[:at], '\n')+1 : at]
	return string(line), len(bytes.TrimLeft(line, " \t")) == 0
}

func lineEnd(src []byte) string {
	if bytes.Contains(src, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// remove removes the rules for which match holds.
func remove(src []byte, match func(list, rule string) bool) (out []byte, removed int, err error) {
	if isBlank(src) {
		return src, 0, nil
	}
	root, err := parse(src)
	if err != nil {
		return src, 0, err
	}
	var cuts [][2]int
	for _, permissions := range root.items {
		if permissions.key != key {
			continue
		}
		for _, list := range permissions.items {
			if permissions.kind == '{' && list.kind == '[' {
				found, n := list.cuts(func(rule string) bool { return match(list.key, rule) })
				cuts, removed = append(cuts, found...), removed+n
			}
		}
	}
	out = slices.Clone(src)
	for _, cut := range slices.Backward(cuts) {
		out = slices.Delete(out, cut[0], cut[1])
	}
	return out, removed, nil
}

// cuts returns the parts of the text to cut, in order, so that the matching elements of a
// list are gone, and how many these are.
func (n *node) cuts(match func(rule string) bool) (all [][2]int, removed int) {
	matching := func(i *node) bool { return i.kind == '"' && match(i.text) }
	stays := slices.IndexFunc(n.items, func(i *node) bool { return !matching(i) })
	if stays < 0 && len(n.items) > 0 {
		return [][2]int{{n.start + 1, n.end - 1}}, len(n.items)
	}
	for i, item := range n.items {
		switch {
		case !matching(item):
		case i < stays: // those before the first that stays, each up to the next
			all = append(all, [2]int{item.start, n.items[i+1].start})
		default: // the others, each with the comma before it
			all = append(all, [2]int{n.items[i-1].end, item.end})
		}
	}
	return all, len(all)
}

// isBlank reports a file without a value.
func isBlank(src []byte) bool {
	return len(bytes.Trim(bytes.TrimPrefix(src, byteOrderMark), " \t\r\n")) == 0
}
