package environment

import "strings"

// maxImage is the longest reference to an image, in bytes.
const maxImage = 512

// template reads the name of a root file system that the server keeps; whether it
// has one of that name is not for a spec to know.
func (p *parser) template(v value) {
	name, ok := p.text(v, "a template's name such as host")
	if !ok {
		return
	}
	if err := p.checkName(name); err != nil {
		p.fault(v.node, v.path, "%s", err)
		return
	}
	p.spec.Template = name
}

// image reads a reference to an image of a registry. Images that lie in files have
// to be brought to the server first: what it reads of its own disk is not for
// somebody to say who only has a token.
func (p *parser) image(v value) {
	ref, ok := p.text(v, "a reference such as debian:13")
	switch {
	case !ok:
	case ref == "":
		p.fault(v.node, v.path, "is empty; name an image such as debian:13")
	case len(ref) > maxImage:
		p.fault(v.node, v.path, "has %d bytes, more than any reference to an image", len(ref))
	case isPath(ref):
		p.fault(v.node, v.path, "%s is a path, and the server reads no images from its own disk; send it with paddock template add %s --name NAME and write template: NAME", clip(ref), clip(ref))
	default:
		p.spec.Image = ref
	}
}

// isPath says whether what stands for an image is the path of a file or folder.
func isPath(image string) bool {
	return image != "" && strings.ContainsRune("/.~", rune(image[0]))
}
