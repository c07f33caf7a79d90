"""The colors of code on a light page: Pygments' style `friendly`, but darker where its contrast with the page is below 4.5 : 1."""

from typing import ClassVar

from pygments.styles.friendly import FriendlyStyle

DARKER = {
    "#60a0b0": "#45707c",
    "#40a070": "#22754a",
    "#0e84b5": "#0a6489",
    "#bb60d5": "#9438b0",
    "#60add5": "#1f6f99",
    "#d55537": "#b23c20",
    "#70a0d0": "#2f6aa3",
    "#c65d09": "#a04a05",
    "#00a000": "#007a00",
    "#ff0000": "#c40000",
    "#888": "#5f6670",
    "#888888": "#5f6670",
    "#bbbbbb": "#5f6670",
}


def darker(style: str) -> str:
    return " ".join(DARKER.get(word.lower(), word) for word in style.split())


class Light(FriendlyStyle):
    name = "abh-light"
    styles: ClassVar = {token: darker(style) for token, style in FriendlyStyle.styles.items()}
