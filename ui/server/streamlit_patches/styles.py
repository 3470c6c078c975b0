"""CSS for the pages. It is constant, so no data can get into the HTML of a page through it.

The CSS selects most parts of a page by two kinds of marks. Streamlit documents the classes `st-key-...`. It does not
document the attributes `data-testid`, which it sets for tests. Three other marks of Streamlit are not documented
either: the attributes `aria-label` and `data-tag`, and the class `stMarkdownBadge`.

Reason: Streamlit has no other way to set spaces, font sizes, and columns on a phone, to hide a button, or to print a
page without its navigation.
Gain: ε and its curve are on one screen, also on a phone (`tests/browser/test_phone.py`); captions have enough contrast;
and tables have no download button of Streamlit, because its file name would not contain DO_NOT_SHARE.
Test: `test_the_front_end_has_each_part_that_a_style_names`
"""

from typing import Final

# Streamlit's download button of tables is hidden, because its file name does not contain DO_NOT_SHARE.
PAGE: Final = """<style>
[class*=st-key-headline] h3 {font-size: 1.75rem; padding: 0; line-height: 1.3; font-variant-numeric: tabular-nums}
[class*=st-key-headline] h3 {text-wrap: balance}
[class*=st-key-headline] p {text-wrap: pretty}
[class*=st-key-headline] [data-testid=stMarkdownContainer] {margin-bottom: 0}
[class*=st-key-headline] [data-testid=stVerticalBlock] {gap: 0.35rem}
.st-key-below_curve {min-height: 3.4rem}
.st-key-answer_words, .st-key-compared_words {min-height: 3.25rem}
.st-key-answer_chart {min-height: 21.8rem}
.st-key-compared_chart {min-height: 420px}
.st-key-recommended {min-height: 2.5rem}
[data-testid=stElementToolbarButton]:has([aria-label^="Download as CSV"]) {display: none}
[data-testid=stCaptionContainer] {opacity: 1}
[data-testid=stCaptionContainer] code {font-size: inherit}
[data-testid=stCaptionContainer], [data-testid=stCaptionContainer] p {color: light-dark(#55606B, #AAB5BF)}
a[href]:focus-visible {outline: 2px solid light-dark(#005F94, #7CC3EC) !important; outline-offset: 2px}
[data-testid=stCaptionContainer] a {color: light-dark(#005F94, #7CC3EC)}
@media (min-width: 1100px) {
  .st-key-instrument_place {min-height: 24rem}
  .st-key-below_curve, .st-key-below_answers {flex-wrap: nowrap; align-items: flex-start}
  .st-key-below_curve > :first-child, .st-key-below_answers > :first-child {flex: 1 1 0; min-width: 0}
  .st-key-below_answers {min-height: 5.25rem}
}
@media (min-width: 1100px) and (max-height: 760px) {
  .st-key-instrument_place {min-height: 22rem}
}
@media (min-width: 769px) {
  [data-testid=stMainBlockContainer] {padding-top: 1.4rem}
}
@media (max-width: 768px) {
  [data-testid=stMainBlockContainer] {padding-top: 3.6rem}
}
@media (min-width: 641px) {
  .st-key-asked {min-height: 4.25rem}
  [data-testid=stHeader] {background: transparent}
  [data-testid=stHeader], [data-testid=stHeader] * {pointer-events: none}
  [data-testid=stHeader] button, [data-testid=stHeader] button * {pointer-events: auto}
  [data-testid=stStatusWidget] {display: none}
}
@media (max-width: 900px) {
  .st-key-focus {overflow-x: auto}
  .st-key-focus [data-testid=stElementContainer] {min-width: 820px}
}
@media (max-width: 640px), (max-height: 760px) {
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] {gap: 0.6rem}
}
@media (max-width: 640px) {
  .st-key-instrument_place {min-height: 47.8rem}
  .st-key-asked [data-testid=stHorizontalBlock] {display: grid; grid-template-columns: 1fr 1fr; gap: 0.6rem}
  .st-key-asked [data-testid=stColumn] {width: auto; min-width: 0}
  .st-key-asked [data-testid=stColumn]:nth-child(2) {grid-column: 1 / 3; order: 1}
  [class*=st-key-headline] [data-testid=stHorizontalBlock] {display: grid; grid-template-columns: 1fr 1fr; gap: 0.6rem}
  [class*=st-key-headline] [data-testid=stColumn] {width: auto; min-width: 0}
  [class*=st-key-headline] [data-testid=stColumn] [data-testid=stVerticalBlock] {padding: 0.6rem}
  [class*=st-key-headline] [data-testid=stColumn] > [data-testid=stVerticalBlock] {padding: 0}
  [class*=st-key-headline] h3 {font-size: 1.25rem}
}
[class*=st-key-printed_] {display: none}
@page {size: landscape; margin: 12mm}
@media print {
  [data-testid=stSidebar], [data-testid=stHeader], [data-testid=stPopover], [data-testid=stButton],
  [data-testid=stDownloadButton], .st-key-welcome {display: none}
  [class*=st-key-printed_] {display: block; font-size: 0.875rem}
  [data-testid=stVerticalBlock]:has(> [data-testid=stLayoutWrapper] > [class*=st-key-printed_])
    > [data-testid=stElementContainer] {display: none}
  [data-testid=stPlotlyChart], [data-testid=stDataFrame], [class*=st-key-headline] {break-inside: avoid}
}
</style>"""

# The whole document gets the dark color scheme, because Streamlit's menus are outside the part that it makes dark.
# The blue of the theme is light, so that blue text is readable on a dark page. White text on this light blue would not
# be readable, so buttons get a darker blue background.
DARK: Final = """<style>
:root {color-scheme: dark}
[data-testid=stBaseButton-primary], [data-testid=stMultiSelect] [data-tag] {background: #0072B2; color: #FFFFFF}
[data-testid=stBaseButton-primary] {border-color: #0072B2}
[data-testid=stBaseButton-primary]:hover {background: #005F94; border-color: #7CC3EC; color: #FFFFFF}
</style>"""

# Styles of presentation mode, for a room with a projector.
PRESENTATION: Final = """<style>
html {font-size: 19px}
[data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] {gap: 0.6rem}
.st-key-end_presentation {position: fixed; top: 0.6rem; left: 1.5rem; z-index: 999991}
[data-testid=stSidebar], [data-testid=stExpandSidebarButton] {display: none}
</style>"""

LESSON: Final = """<style>
[data-testid=stMainBlockContainer] {padding-bottom: 1rem}
.st-key-lesson_text p, .st-key-lesson_question p, .st-key-lesson_question label p {font-size: 1rem; line-height: 1.4}
.st-key-lesson_page h4 {padding: 0}
[class*=st-key-stage_] {min-height: 374px}
@media (min-width: 641px) and (max-height: 760px) {
  [class*=st-key-stage_] {min-height: 302px}
}
@media (min-width: 641px) {
  .st-key-step {min-width: 22.6rem}
}
@media (max-width: 640px) {
  .st-key-step [data-testid=stButtonGroup] button {padding: 0 0.3rem; min-width: 2rem}
}
.st-key-lesson_page, .st-key-lesson_page [data-testid=stVerticalBlock] {gap: 0.5rem}
.st-key-lesson_page [data-testid=stMarkdownContainer] {margin-bottom: 0}
.st-key-lesson_page [data-testid=stMarkdownContainer] p:last-child {margin-bottom: 0}
</style>"""

# Styles of the wall, which shows a class how to join a room.
WALL: Final = """<style>
.wall {display: flex; gap: 2rem; align-items: center; padding: 0.25rem 0 0.5rem}
.wall img {width: 15rem; height: 15rem; border-radius: 0.5rem; background: #FFFFFF}
.wall p {margin: 0; font-size: 1.25rem; line-height: 1.3}
.wall .address {font-size: 2rem; font-weight: 650; overflow-wrap: anywhere}
.wall .letters {font-size: 4.5rem; font-weight: 700; letter-spacing: 0.12em; line-height: 1.1}
.wall .note {margin-top: 0.5rem; font-size: 1rem}
@media (max-width: 640px) {
  .wall {flex-direction: column; align-items: flex-start; gap: 0.5rem}
  .wall .address {font-size: 1.25rem}
}
.st-key-room_status [data-testid=stMarkdown] p {font-size: 1.125rem}
.st-key-room_status button {min-height: 1.75rem; padding: 0 0.5rem}
</style>"""

# The lesson in presentation mode: a step fits 1280 x 720 pixels, and no text is smaller than 20 pixels. On a larger
# screen the type grows with the screen.
LESSON_PRESENTED: Final = """<style>
html {font-size: max(20px, min(2.77vh, 1.56vw))}
[data-testid=stMainBlockContainer] {padding: 0.4rem 2.6rem 0.25rem 1.8rem}
.st-key-lesson_page, .st-key-lesson_page [data-testid=stVerticalBlock] {gap: 0.35rem}
.st-key-lesson_page :is(p, label, button, li, [data-testid=stCaptionContainer]) {font-size: 1rem}
.st-key-lesson_page .stMarkdownBadge {font-size: 1rem !important}
[data-testid=stPopoverBody] :is(p, label, [data-testid=stCaptionContainer]) {font-size: 1rem}
.st-key-lesson_page [data-testid=stMarkdownContainer] p {line-height: 1.3}
.st-key-lesson_page [data-testid=stSlider] :is([data-testid=stSliderThumbValue], div) {font-size: 1rem}
.st-key-lesson_page [data-testid=stButtonGroup] button {min-height: 2rem; padding: 0 0.6rem}
.st-key-lesson_page button {min-height: 2rem; padding: 0.1rem 0.6rem}
.st-key-lesson_page .st-key-lesson_question :is(p, label) {font-size: 1.1rem}
.st-key-lesson_page h4 {font-size: 1.4rem}
.st-key-lesson_page [class*=st-key-stage_] {min-height: 18.8rem}
.st-key-step {min-width: 0}
.st-key-end_presentation {top: auto; bottom: 0; left: auto; right: 1.8rem}
.st-key-end_presentation p {font-size: 1rem}
</style>"""
