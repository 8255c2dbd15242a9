// Package api holds openapi.yaml, the one definition of the HTTP API.
package api

import _ "embed"

// OpenAPI is the definition's text, as the server gives it at /openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config models.cfg.yaml -package gen -o ../internal/server/gen/models.gen.go openapi.yaml
//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config models.cfg.yaml -package gen -o ../client/gen/models.gen.go openapi.yaml
