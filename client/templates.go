package client

import (
	"context"
	"io"
	"net/http"

	"paddock/client/gen"
)

// The states of a template.
const (
	TemplateBuilding = gen.TEMPLATESTATUSBUILDING
	TemplateReady    = gen.TEMPLATESTATUSREADY
	TemplateFailed   = gen.TEMPLATESTATUSFAILED
)

// CreateTemplate has the server pull an image of a registry, to be a template of
// this name. It returns at once.
func (c *Client) CreateTemplate(ctx context.Context, name, image string) (Template, error) {
	answer, err := doOnce[gen.TemplateAnswer](ctx, c, call{
		method: http.MethodPost, path: []string{"templates"}, body: gen.CreateTemplate{Name: name, SourceOCIRef: image},
	})
	return answer.Template, err
}

// ImportTemplate sends an image, as an archive, to be a template of this name. It
// returns when the server has unpacked it.
func (c *Client) ImportTemplate(ctx context.Context, name string, archive io.Reader) (Template, error) {
	answer, err := do[gen.TemplateAnswer](ctx, c, call{
		method: http.MethodPut, path: []string{"templates", name, "image"}, stream: archive,
		headers: map[string]string{"Content-Type": "application/octet-stream"},
	})
	return answer.Template, err
}

// Template gives one template, by id or name.
func (c *Client) Template(ctx context.Context, ref string) (Template, error) {
	answer, err := do[gen.TemplateAnswer](ctx, c, call{method: http.MethodGet, path: []string{"templates", ref}})
	return answer.Template, err
}

// Templates lists templates, newest first, one page at a time.
func (c *Client) Templates(ctx context.Context, pageSize int, pageToken string) (TemplateList, error) {
	return do[TemplateList](ctx, c, call{
		method: http.MethodGet, path: []string{"templates"}, query: values("page_size", positive(pageSize), "page_token", pageToken),
	})
}

// UpdateTemplate has the server pull a template's image anew, another one where
// one is named.
func (c *Client) UpdateTemplate(ctx context.Context, ref, image string) (Template, error) {
	answer, err := do[gen.TemplateAnswer](ctx, c, call{
		method: http.MethodPut, path: []string{"templates", ref}, body: gen.UpdateTemplate{SourceOCIRef: image},
	})
	return answer.Template, err
}

// RemoveTemplate removes a template. It is a conflict while something uses it.
func (c *Client) RemoveTemplate(ctx context.Context, ref string) error {
	_, err := do[gen.DeletedTemplate](ctx, c, call{method: http.MethodDelete, path: []string{"templates", ref}})
	return err
}
