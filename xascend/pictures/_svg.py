"""A scene as an SVG file, written without any library."""

from __future__ import annotations

from xml.sax.saxutils import escape

from xascend.pictures._scene import INK, Arrow, Label, Rect, Scene

__all__ = ["write_svg"]

_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">
<title>{title}</title>
<defs>
<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="5" height="5" fill="#fafafa"/><line x1="0" y1="0" x2="0" y2="5" stroke="#d5d8dd" stroke-width="1.6"/>
</pattern>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4" markerHeight="4" orient="auto">
<path d="M0 0 8 4 0 8z" fill="{ink}"/>
</marker>
</defs>
<rect width="100%" height="100%" fill="#fff"/>"""
_CELLS = '<g stroke="#fff">'
_ARROWS = '<g stroke="{ink}" stroke-width="4" opacity="0.4">'
_LABELS = '<g font-family="DejaVu Sans, Verdana, sans-serif" font-size="9" text-anchor="middle" fill="{ink}">'


def write_svg(scene: Scene) -> bytes:
    """Return the SVG document."""
    lines = [_HEAD.format(width=scene.width, height=scene.height, title=escape(scene.title), ink=INK)]
    lines += [_CELLS, *map(_rect, scene.rects), "</g>"]
    lines += [_ARROWS.format(ink=INK), *map(_arrow, scene.arrows), "</g>"]
    lines += [_LABELS.format(ink=INK), *map(_text, scene.labels), "</g>"]
    return "\n".join([*lines, "</svg>\n"]).encode()


def _rect(rect: Rect) -> str:
    place = f'x="{rect.x:g}" y="{rect.y:g}" width="{rect.width:g}" height="{rect.height:g}"'
    fill = rect.fill or "url(#hatch)"
    return f'<rect class="{rect.kind}" {place} fill="{fill}"><title>{escape(rect.title)}</title></rect>'


def _arrow(arrow: Arrow) -> str:
    (x1, y1), (x2, y2) = arrow.start, arrow.end
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" marker-end="url(#tip)"/>'


def _text(label: Label) -> str:
    given = {
        "font-size": (label.size, 9.0),
        "text-anchor": (label.anchor, "middle"),
        "fill": (label.colour, INK),
        "font-weight": ("bold" if label.bold else "normal", "normal"),
    }
    look = "".join(f' {name}="{value}"' for name, (value, usual) in given.items() if value != usual)
    # dy centres the letters on y; the property made for it is not known to every viewer
    return f'<text x="{label.x:g}" y="{label.y:g}" dy=".35em"{look}>{escape(label.text)}</text>'
