package builtin

// MarksOf finds none here: other processes cannot be looked at.
func MarksOf(int) ([]Mark, error) { return nil, nil }
