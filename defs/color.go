package defs

import "hash/fnv"

// ShownColor returns Color, or a color derived from the name.
func (d Definition) ShownColor() string {
	if d.Color != "" {
		return d.Color
	}
	h := fnv.New32a()
	h.Write([]byte(d.Name)) // never fails
	colors := Colors()
	return colors[int(h.Sum32()%uint32(len(colors)))]
}
