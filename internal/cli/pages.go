package cli

// everyPage gives the whole of a list that comes in pages; page gives the one
// that a token names, and the token of the next, empty at the end.
func everyPage[T any](page func(token string) ([]T, string, error)) ([]T, error) {
	all := []T{}
	for token := ""; ; {
		some, next, err := page(token)
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); next == "" {
			return all, nil
		}
		token = next
	}
}
