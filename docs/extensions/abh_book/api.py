"""Directive `header`: the declarations of a header, from Doxygen's XML through Breathe.

    ```{header} lib/tensor.hpp
    ```

It is Breathe's `doxygenfile` without the box around each namespace. A namespace that many headers
open would otherwise be declared once on each of their pages; here every name is shown in full.
"""

from typing import Any

from breathe import parser
from breathe.directives import file as breathe_file
from breathe.renderer import RenderContext, TaggedNode
from breathe.renderer.mask import NullMaskFactory
from breathe.renderer.sphinxrenderer import SphinxRenderer, WithContext
from breathe.renderer.target import create_target_handler
from docutils import nodes
from sphinx.application import Sphinx


class Renderer(SphinxRenderer):
    def visit_namespace(self, node: Any) -> list[nodes.Node]:
        data = self.parse_compound(node.refid)
        assert self.context is not None
        context = self.context.create_child_context(data)
        with WithContext(self, context.create_child_context(data.compounddef[0])):
            return self.render(data, context)

    def get_qualification(self) -> list[str]:
        """The namespace of a member outside a class; a class comes with its full name."""
        assert self.context is not None
        stack = [tagged.value for tagged in self.context.node_stack]
        if self.nesting_level > 0 or isinstance(stack[0], parser.Node_compounddefType):
            return []
        for node in stack:
            if (
                isinstance(node, parser.Node_compounddefType)
                and node.kind == parser.DoxCompoundKind.namespace
            ):
                return node.compoundname.split("::")
        return []


# The metaclass gives each class tables of the handlers that its own body defines.
Renderer.node_handlers = SphinxRenderer.node_handlers
Renderer.tagged_node_handlers = SphinxRenderer.tagged_node_handlers


# What is shown, in this order; nothing private.
SECTIONS = (
    "briefdescription detaileddescription typedef enum innerclass innernamespace public-type "
    "public-attrib public-static-attrib public-func public-static-func friend related "
    "user-defined func var define"
)


class Header(breathe_file.DoxygenFileDirective):
    def handle_contents(self, file_: str, project_info: Any) -> list[nodes.Node]:
        self.options["sections"] = SECTIONS
        found: list[list[TaggedNode]] = []
        index = self.get_doxygen_index(project_info)
        breathe_file.file_finder_filter(file_, self.dox_parser, project_info, index, found)
        out: list[nodes.Node] = []
        for stack in found:
            renderer = Renderer(
                self.dox_parser.app, project_info, [tagged.value for tagged in stack], self.state,
                self.state.document, create_target_handler(self.options, self.env),
                self.dox_parser, breathe_file.create_file_filter(file_, self.options),
            )
            context = RenderContext(stack, NullMaskFactory(), self.directive_args)
            out += renderer.render(stack[0].value, context)
        if not out:
            out.append(nodes.paragraph("", "This header has no documented declaration."))
        return out


def setup(app: Sphinx) -> None:
    app.setup_extension("breathe")
    app.add_directive("header", Header)
