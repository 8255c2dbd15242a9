package transcript

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"
)

//go:embed page.html
var pageText string

// page escapes whatever it is given for the place where it stands.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"moment": moment,
	"iso":    func(t time.Time) string { return t.Format(time.RFC3339) },
	"clock":  func(t time.Time) string { return t.Format(time.TimeOnly) },
}).Parse(pageText))

// HTML writes the document as a page that needs nothing else: no script, no
// style, no image from elsewhere, which its policy forbids as well.
func (d *Document) HTML(w io.Writer) error {
	if err := page.Execute(w, d); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
