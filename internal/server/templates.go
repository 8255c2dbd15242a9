package server

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"paddock/internal/engine"
	"paddock/internal/fault"
	"paddock/internal/server/gen"
	"paddock/internal/store"
)

func (e *edge) createTemplate(w http.ResponseWriter, r request) error {
	var want gen.CreateTemplate
	if err := readJSON(w, r.Request, maxBody, &want); err != nil {
		return err
	}
	switch {
	case want.Name == "":
		return fault.New(fault.BadRequest, "name is missing: give the template a name")
	case want.SourceOCIRef == "":
		return fault.New(fault.BadRequest, "source_oci_ref is missing: name an image of a registry, such as debian:13")
	}
	answer := func(made engine.TemplateView) store.Answer {
		answer := jsonAnswer(http.StatusCreated, gen.TemplateAnswer{Template: templateOnWire(made)})
		answer.Header["Location"] = e.publicURL(r) + r.prefix + "/templates/" + url.PathEscape(made.ID.String())
		return answer
	}
	made, err := e.engine.CreateTemplate(r.Context(), r.who.Team, engine.TemplateRequest{
		Name: want.Name, Source: want.SourceOCIRef, Base: want.BaseTemplate, By: r.who.Name, Once: once(r, answer),
	})
	if err != nil {
		return err
	}
	writeAnswer(w, answer(made))
	return nil
}

// importTemplate takes an image as the body of the call. Its sender may take as
// long as it goes on sending.
func (e *edge) importTemplate(w http.ResponseWriter, r request) error {
	if media := contentType(r.Request); media != "application/octet-stream" {
		return fault.New(fault.UnsupportedMediaType, "the body is %.64q; send the archive as application/octet-stream", media)
	}
	body := &steady{from: r.Body, control: http.NewResponseController(w), patience: e.options.BodyTimeout}
	made, err := e.engine.ImportTemplate(r.Context(), r.who.Team, engine.TemplateRequest{Name: r.PathValue("template"), By: r.who.Name}, body)
	if err != nil {
		body.drain()
		return err
	}
	_ = body.control.SetReadDeadline(time.Time{})
	writeJSON(w, http.StatusOK, gen.TemplateAnswer{Template: templateOnWire(made)})
	return nil
}

func (e *edge) getTemplate(w http.ResponseWriter, r request) error {
	t, err := e.engine.Template(r.Context(), r.who.Team, r.PathValue("template"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.TemplateAnswer{Template: templateOnWire(t)})
	return nil
}

func (e *edge) listTemplates(w http.ResponseWriter, r request) error {
	query := r.URL.Query()
	size, err := readPageSize(query)
	if err != nil {
		return err
	}
	found, next, err := e.engine.Templates(r.Context(), r.who.Team, size, query.Get("page_token"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.TemplateList{Templates: list(found, templateOnWire), NextPageToken: next})
	return nil
}

func (e *edge) updateTemplate(w http.ResponseWriter, r request) error {
	var want gen.UpdateTemplate
	if err := readJSON(w, r.Request, maxBody, &want); err != nil {
		return err
	}
	t, err := e.engine.UpdateTemplate(r.Context(), r.who.Team, r.PathValue("template"), engine.TemplateRequest{
		Source: want.SourceOCIRef, Base: want.BaseTemplate, By: r.who.Name,
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.TemplateAnswer{Template: templateOnWire(t)})
	return nil
}

func (e *edge) removeTemplate(w http.ResponseWriter, r request) error {
	gone, err := e.engine.RemoveTemplate(r.Context(), r.who.Team, r.PathValue("template"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, gen.DeletedTemplate{TemplateID: gone.String(), Deleted: true})
	return nil
}

// templateStatus are the states in the words of the public protocol.
var templateStatus = map[store.TemplateState]gen.TemplateStatus{
	store.TemplateBuilding: gen.TEMPLATESTATUSBUILDING,
	store.TemplateReady:    gen.TEMPLATESTATUSREADY,
	store.TemplateFailed:   gen.TEMPLATESTATUSFAILED,
}

func templateOnWire(t engine.TemplateView) gen.Template {
	wire := gen.Template{
		TemplateID: t.ID.String(), Name: t.Name, Status: templateStatus[t.State], CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(),
		Spec:   gen.TemplateSpec{BaseTemplate: t.Base},
		Source: t.Source, ImageID: t.Digest, SizeBytes: t.Image.Bytes, Entries: t.Image.Entries, Error: t.Reason, Progress: t.Progress,
		Env: t.Image.Env, Warnings: t.Image.Warnings, CreatedBy: t.CreatedBy,
	}
	if t.Source != "" {
		wire.Spec.Image = imageOnWire(t.Source)
	}
	return wire
}

// imageOnWire takes a reference in full, registry/repository:tag or @digest, apart.
func imageOnWire(ref string) (image gen.TemplateImage) {
	image.Registry, image.Repository, _ = strings.Cut(ref, "/")
	if name, digest, ok := strings.Cut(image.Repository, "@"); ok {
		image.Repository, image.Digest = name, digest
	}
	if at := strings.LastIndexByte(image.Repository, ':'); at > strings.LastIndexByte(image.Repository, '/') {
		image.Repository, image.Tag = image.Repository[:at], image.Repository[at+1:]
	}
	return image
}
