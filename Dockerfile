# The server in a small image, as an ordinary user:
#   docker build -t palmette .
#   docker run -p 8080:8080 -v "$PWD:/models" -e PALMETTE_TOKEN=secret palmette ner.palm
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
ENV PIP_CONSTRAINT=build-constraints.txt
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/palmette-*.whl)[serve]" \
    && useradd --uid 1000 --create-home palmette
USER palmette
WORKDIR /models
EXPOSE 8080
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/health', timeout=5)"]
ENTRYPOINT ["palmette", "serve", "--host", "0.0.0.0", "--port", "8080"]
CMD ["en"]
